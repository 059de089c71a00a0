"""A `static_assert` that fails in an instantiated kernel."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("failing",)
EXPECT = "BUILD_FAILED"
PASS = "device"
MESSAGE = "power of two"

source = r"""
#include <torch/extension.h>
template <int N> __global__ void k(const float* x, float* y) { static_assert((N & (N - 1)) == 0, "N must be a power of two"); y[threadIdx.x % N] = x[threadIdx.x % N]; }
torch::Tensor forward(torch::Tensor x) { auto y = torch::empty_like(x); k<96><<<1, 96>>>(x.data_ptr<float>(), y.data_ptr<float>()); return y; }
"""

declarations = "torch::Tensor forward(torch::Tensor x);"

ext = load_inline(
    name="static_assert_fails", cpp_sources=declarations, cuda_sources=source, functions=["forward"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
