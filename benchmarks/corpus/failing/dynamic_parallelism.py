"""A kernel that launches a kernel, which needs relocatable device code."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "failing",
    "rdc",
)
EXPECT = "BUILD_FAILED"
WHY = "-rdc=true is not among the allowed flags"
PASS = "device"

cuda_source = r"""
#include <torch/extension.h>
__global__ void child(float* y) { y[threadIdx.x] *= 2.f; }
__global__ void parent(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; __syncthreads(); if (threadIdx.x == 0) child<<<1, 256>>>(y); }
torch::Tensor forward(torch::Tensor x) { auto y = torch::empty_like(x); parent<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>()); return y; }
"""

cpp_source = "torch::Tensor forward(torch::Tensor x);"

ext = load_inline(
    name="dynamic_parallelism",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["forward"],
    extra_cuda_cflags=["-rdc=true"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
