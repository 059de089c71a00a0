"""The functional API of `torch::nn` beside a kernel."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("torch_nn",)
EXPECT = "stock"
WHY = "torch::nn is not in the precompiled headers"

cuda_source = r"""
#include <torch/extension.h>

__global__ void twice_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.f * x[i];
}

torch::Tensor twice(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    twice_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}

torch::Tensor twice_activated(torch::Tensor x) {
    namespace F = torch::nn::functional;
    return F::elu(twice(x), F::ELUFuncOptions().alpha(0.5));
}
"""

cpp_source = "torch::Tensor twice_activated(torch::Tensor x);"

ext = load_inline(
    name="torch_nn", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["twice_activated"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.twice_activated(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
