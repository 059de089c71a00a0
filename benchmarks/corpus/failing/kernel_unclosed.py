"""A kernel that is never closed."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("failing",)
EXPECT = "BUILD_FAILED"
PASS = "source"

source = r"""
#include <torch/extension.h>
__global__ void k(const float* x, float* y, int n) {
    if (n > 0) {
        y[0] = x[0];

torch::Tensor forward(torch::Tensor x) { return x; }
"""

declarations = "torch::Tensor forward(torch::Tensor x);"

ext = load_inline(
    name="kernel_unclosed", cpp_sources=declarations, cuda_sources=source, functions=["forward"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
