"""A bound function whose argument no converter takes."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("failing",)
EXPECT = "BUILD_FAILED"
PASS = "host"

cuda_source = r"""
#include <torch/extension.h>

__global__ void k(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}

torch::Tensor plain(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    k<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}

torch::Tensor forward(torch::Tensor x, float** table) { return table ? plain(x) : x; }
"""

cpp_source = "torch::Tensor forward(torch::Tensor x, float** table);"

ext = load_inline(
    name="binding_type", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["forward"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
