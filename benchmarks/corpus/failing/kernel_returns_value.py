"""A kernel that returns a value."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("failing",)
EXPECT = "BUILD_FAILED"
PASS = "device"
MESSAGE = "void"

CUDA_SRC = r"""
#include <torch/extension.h>
__global__ int k(float* y) { y[0] = 1.f; return 0; }
torch::Tensor forward(torch::Tensor x) { k<<<1, 1>>>(x.data_ptr<float>()); return x; }
"""

CPP_SRC = "torch::Tensor forward(torch::Tensor x);"

ext = load_inline(
    name="kernel_returns_value", cpp_sources=CPP_SRC, cuda_sources=CUDA_SRC, functions=["forward"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
