"""A launch of a function that is no kernel."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("failing",)
EXPECT = "BUILD_FAILED"
WHY = "nvcc refuses a launch of what is not __global__"
PASS = "host"

CUDA_SRC = r"""
#include <torch/extension.h>
void k(const float* x, float* y) { y[0] = x[0]; }
torch::Tensor forward(torch::Tensor x) { auto y = torch::empty_like(x); k<<<1, 1>>>(x.data_ptr<float>(), y.data_ptr<float>()); return y; }
"""

CPP_SRC = "torch::Tensor forward(torch::Tensor x);"

ext = load_inline(
    name="launch_of_a_function", cpp_sources=CPP_SRC, cuda_sources=CUDA_SRC, functions=["forward"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
