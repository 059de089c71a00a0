"""A kernel that calls a host function."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("failing",)
EXPECT = "BUILD_FAILED"
PASS = "device"
MESSAGE = "host_only"

CUDA_SRC = r"""
#include <torch/extension.h>
float host_only(float v) { return v + 1.f; }

__global__ void k(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = host_only(x[i]);
}

torch::Tensor forward(torch::Tensor x) { auto y = torch::empty_like(x); k<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), 256); return y; }
"""

CPP_SRC = "torch::Tensor forward(torch::Tensor x);"

ext = load_inline(
    name="device_calls_host", cpp_sources=CPP_SRC, cuda_sources=CUDA_SRC, functions=["forward"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
