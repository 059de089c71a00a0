"""A template that instantiates itself without end."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("failing",)
EXPECT = "BUILD_FAILED"
WHY = "the compiler's own limit on depth"
PASS = "device"
MESSAGE = "recursi"

cuda_source = r"""
#include <torch/extension.h>
template <int N> struct Sum { __host__ __device__ static float of(float v) { return v + Sum<N + 1>::of(v); } };


__global__ void k(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = Sum<0>::of(x[i]);
}

torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    k<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

cpp_source = "torch::Tensor forward(torch::Tensor x);"

ext = load_inline(
    name="template_recursion",
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
