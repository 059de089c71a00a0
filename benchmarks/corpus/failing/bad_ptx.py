"""Inline PTX that does not exist."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("failing",)
EXPECT = "BUILD_FAILED"
PASS = "device"
MESSAGE = "fused"

cuda_source = r"""
#include <torch/extension.h>
__global__ void k(const float* x, float* y) {
    float v;
    asm volatile("fused.rn.f32 %0, %1, %1;" : "=f"(v) : "f"(x[threadIdx.x]));
    y[threadIdx.x] = v;
}
torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    k<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>());
    return y;
}
"""

cpp_source = "torch::Tensor forward(torch::Tensor x);"

ext = load_inline(
    name="bad_ptx", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["forward"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
