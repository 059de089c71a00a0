"""Compiler flags: `-O3 --use_fast_math`."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "flag_O3",
    "flag_use_fast_math",
)
EXPECT = "split"

cuda_source = r"""
#include <torch/extension.h>

__global__ void flags_fast_math_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = expf(x[i]) / (1.f + sinf(x[i]) * sinf(x[i])) + sqrtf(fabsf(x[i]));
}

torch::Tensor flags_fast_math_forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    flags_fast_math_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

cpp_source = "torch::Tensor flags_fast_math_forward(torch::Tensor x);"

ext = load_inline(
    name="flags_fast_math",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["flags_fast_math_forward"],
    extra_cuda_cflags=["-O3", "--use_fast_math"],
    extra_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.flags_fast_math_forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
