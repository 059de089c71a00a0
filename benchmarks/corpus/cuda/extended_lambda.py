"""An extended lambda given to a kernel template."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("extended_lambda",)
EXPECT = "stock"
WHY = "nvcc names the type of an extended lambda; no other host compiler can"

cuda_source = r"""
#include <torch/extension.h>

template <typename F>
__global__ void apply(float* x, int n, F f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = f(x[i]);
}

torch::Tensor mapped(torch::Tensor x, double by) {
    auto y = x.clone();
    int n = y.numel();
    const float b = by;
    auto f = [=] __device__(float v) { return v * b + 1.f; };
    apply<<<(n + 255) / 256, 256>>>(y.data_ptr<float>(), n, f);
    return y;
}
"""

cpp_source = "torch::Tensor mapped(torch::Tensor x, double by);"

ext = load_inline(
    name="extended_lambda",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["mapped"],
    extra_cuda_cflags=["--extended-lambda"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.mapped(x, 3.0)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
