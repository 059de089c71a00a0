"""Compiler flags: Targets of its own, which the service replaces."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("flag_arch",)
EXPECT = "split"

CUDA_SRC = r"""
#include <torch/extension.h>

__global__ void flags_arch_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] - 7.f;
}

torch::Tensor flags_arch_forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    flags_arch_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

CPP_SRC = "torch::Tensor flags_arch_forward(torch::Tensor x);"

ext = load_inline(
    name="flags_arch",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["flags_arch_forward"],
    extra_cuda_cflags=["-gencode=arch=compute_80,code=sm_80", "-arch=sm_90", "-O3", "-t=4"],
    extra_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.flags_arch_forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
