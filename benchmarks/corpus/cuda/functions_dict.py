"""`functions` as a dict of docstrings."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("functions_dict",)
EXPECT = "split"

CUDA_SRC = r"""
#include <torch/extension.h>

__global__ void exp_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = expf(x[i]);
}

torch::Tensor exp_forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    exp_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

CPP_SRC = "torch::Tensor exp_forward(torch::Tensor x);"

ext = load_inline(
    name="functions_dict",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions={"exp_forward": "Exponential of x (CUDA)"},
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.exp_forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
