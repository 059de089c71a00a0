"""A kernel template whose argument cannot be deduced."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("failing",)
EXPECT = "BUILD_FAILED"
PASS = "host"

cuda_source = r"""
#include <torch/extension.h>
template <typename T, int N> __global__ void k(const T* x, T* y) { y[threadIdx.x] = x[threadIdx.x] * N; }
torch::Tensor forward(torch::Tensor x) { auto y = torch::empty_like(x); k<float><<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>()); return y; }
"""

cpp_source = "torch::Tensor forward(torch::Tensor x);"

ext = load_inline(
    name="template_deduction",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["forward"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
