"""`no_implicit_headers=True`: every source includes what it needs."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("no_implicit_headers",)
EXPECT = "split"

cuda_source = r"""
#include <ATen/ATen.h>
#include <cuda_runtime.h>

__global__ void minus_kernel(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] - 1.f; }

at::Tensor minus_one(at::Tensor x) {
    auto y = at::empty_like(x);
    int n = x.numel();
    minus_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

cpp_source = r"""#include <torch/extension.h>
at::Tensor minus_one(at::Tensor x);"""

ext = load_inline(
    name="no_implicit_headers",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["minus_one"],
    no_implicit_headers=True,
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.minus_one(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
