"""Kernels launched with explicit template arguments: types, numbers, booleans."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "template_explicit",
    "template_non_type",
)
EXPECT = "split"

cuda_source = r"""
#include <torch/extension.h>

template <typename T, int BLOCK, bool kRelu>
__global__ void bias_act(const T* __restrict__ x, const T* __restrict__ b, T* __restrict__ y, int n, int cols) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    T v = x[i] + b[i % cols];
    if constexpr (kRelu) v = v > T(0) ? v : T(0);
    y[i] = v;
}

template <int BLOCK>
void launch(const torch::Tensor& x, const torch::Tensor& b, torch::Tensor& y, bool relu) {
    const int n = x.numel(), cols = x.size(-1);
    const int grid = (n + BLOCK - 1) / BLOCK;
    if (relu)
        bias_act<float, BLOCK, true><<<grid, BLOCK>>>(x.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), n, cols);
    else
        bias_act<float, BLOCK, (1 > 2)><<<grid, BLOCK>>>(x.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), n, cols);
}

torch::Tensor bias_activation(torch::Tensor x, torch::Tensor b, bool relu, int64_t block) {
    auto y = torch::empty_like(x);
    if (block == 128) launch<128>(x, b, y, relu);
    else if (block == 256) launch<256>(x, b, y, relu);
    else launch<(1 << 9)>(x, b, y, relu);
    return y;
}
"""

cpp_source = (
    "torch::Tensor bias_activation(torch::Tensor x, torch::Tensor b, bool relu, int64_t block);"
)

ext = load_inline(
    name="explicit_template",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["bias_activation"],
)


class ModelNew(nn.Module):
    def forward(self, x, b):
        return [ext.bias_activation(x, b, r, n) for r in (True, False) for n in (128, 256, 512)]


def get_inputs():
    return [torch.randn(31, 100), torch.randn(100)]


def get_init_inputs():
    return []
