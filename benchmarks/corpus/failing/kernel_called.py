"""A kernel called without a configuration."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("failing",)
EXPECT = "BUILD_FAILED"
WHY = "nvcc refuses a kernel call without a configuration"
PASS = "host"

source = r"""
#include <torch/extension.h>

__global__ void copy_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}

torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    copy_kernel(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

declarations = "torch::Tensor forward(torch::Tensor x);"

ext = load_inline(
    name="kernel_called", cpp_sources=declarations, cuda_sources=source, functions=["forward"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
