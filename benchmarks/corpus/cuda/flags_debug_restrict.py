"""Compiler flags: Flags that change nothing here, extended lambdas among them."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("flag_define",)
EXPECT = "split"

CUDA_SRC = r"""
#include <torch/extension.h>

__global__ void flags_debug_restrict_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * 0.125f;
}

torch::Tensor flags_debug_restrict_forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    flags_debug_restrict_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

CPP_SRC = "torch::Tensor flags_debug_restrict_forward(torch::Tensor x);"

ext = load_inline(
    name="flags_debug_restrict",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["flags_debug_restrict_forward"],
    extra_cuda_cflags=["-w", "--restrict", "-DNDEBUG", "--expt-extended-lambda"],
    extra_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.flags_debug_restrict_forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
