"""Two texts in `cuda_sources` and two in `cpp_sources`."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("several_sources",)
EXPECT = "split"

kernels = r"""
#include <torch/extension.h>

__global__ void half_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i];
}
"""

launchers = r"""
__device__ __forceinline__ float more(float v) { return v + 1.f; }

__global__ void more_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = more(x[i]);
}

torch::Tensor half_of(torch::Tensor x) {
    auto y = torch::empty_like(x);
    half_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}

torch::Tensor more_of(torch::Tensor x) {
    auto y = torch::empty_like(x);
    more_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

first_declaration = "torch::Tensor half_of(torch::Tensor x);"
second_declaration = "torch::Tensor more_of(torch::Tensor x);"

ext = load_inline(
    name="list_of_sources",
    cpp_sources=[first_declaration, second_declaration],
    cuda_sources=[kernels, launchers],
    functions=["half_of", "more_of"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.half_of(x), ext.more_of(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
