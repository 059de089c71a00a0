"""Compiler flags: A language standard of its own and relaxed constexpr."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "flag_std",
    "flag_expt_relaxed_constexpr",
)
EXPECT = "split"

CUDA_SRC = r"""
#include <torch/extension.h>

__global__ void flags_standard_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] < 0.f ? -x[i] : x[i];
}

torch::Tensor flags_standard_forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    flags_standard_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

CPP_SRC = "torch::Tensor flags_standard_forward(torch::Tensor x);"

ext = load_inline(
    name="flags_standard",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["flags_standard_forward"],
    extra_cuda_cflags=["-std=c++20", "--expt-relaxed-constexpr", "-Xcompiler", "-Wall"],
    extra_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.flags_standard_forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
