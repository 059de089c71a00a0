"""A function that is declared and bound and never defined."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("failing",)
EXPECT = "LOAD_FAILED"
PASS = "load"

source = r"""
#include <torch/extension.h>

__global__ void k(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
"""

declarations = "torch::Tensor forward(torch::Tensor x);"

ext = load_inline(
    name="never_defined", cpp_sources=declarations, cuda_sources=source, functions=["forward"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
