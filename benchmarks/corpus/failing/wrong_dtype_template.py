"""`data_ptr` of a type that tensors do not have, used as one."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("failing",)
EXPECT = "BUILD_FAILED"
PASS = "host"

CUDA_SRC = r"""
#include <torch/extension.h>
struct Pixel { float r, g; };
__global__ void k(Pixel* p) { p[threadIdx.x].r = 0.f; }
torch::Tensor forward(torch::Tensor x) { k<<<1, 32>>>(x.data_ptr<float>()); return x; }
"""

CPP_SRC = "torch::Tensor forward(torch::Tensor x);"

ext = load_inline(
    name="wrong_dtype_template", cpp_sources=CPP_SRC, cuda_sources=CUDA_SRC, functions=["forward"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
