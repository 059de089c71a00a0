"""Two extensions in one program."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("two_extensions",)
EXPECT = "split"

source = r"""
#include <torch/extension.h>

__global__ void up_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + 1.f;
}

torch::Tensor up(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    up_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

declarations = "torch::Tensor up(torch::Tensor x);"

first = load_inline(
    name="two_extensions", cpp_sources=declarations, cuda_sources=source, functions=["up"]
)

other_source = r"""
#include <torch/extension.h>

__global__ void down_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] - 2.f;
}

torch::Tensor down(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    down_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

second = load_inline(
    name="two_extensions_b",
    cpp_sources="torch::Tensor down(torch::Tensor x);",
    cuda_sources=other_source,
    functions=["down"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return second.down(first.up(x))


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
