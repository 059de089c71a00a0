"""bfloat16 pairs, and conversions of single values."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "bf162",
    "bf16",
)
EXPECT = "split"

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_bf16.h>

__global__ void bf16_scale(const __nv_bfloat162* x, __nv_bfloat162* y, float by, int n2) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n2) return;
    float2 f = __bfloat1622float2(x[i]);
    f.x *= by;
    f.y *= by;
    __nv_bfloat162 r = __floats2bfloat162_rn(f.x, f.y);
    y[i] = __hadd2(r, r);
}

__global__ void bf16_tail(const __nv_bfloat16* x, __nv_bfloat16* y, float by, int n) {
    if (n & 1) {
        __nv_bfloat16 r = __float2bfloat16(__bfloat162float(x[n - 1]) * by);
        y[n - 1] = __hadd(r, r);
    }
}

torch::Tensor bf16(torch::Tensor x, double by) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    const auto* in = reinterpret_cast<const __nv_bfloat16*>(x.data_ptr<at::BFloat16>());
    auto* out = reinterpret_cast<__nv_bfloat16*>(y.data_ptr<at::BFloat16>());
    bf16_scale<<<(n / 2 + 255) / 256, 256>>>(reinterpret_cast<const __nv_bfloat162*>(in), reinterpret_cast<__nv_bfloat162*>(out), (float)by, n / 2);
    bf16_tail<<<1, 1>>>(in, out, (float)by, n);
    return y;
}
"""

cpp_source = "torch::Tensor bf16(torch::Tensor x, double by);"

ext = load_inline(
    name="bf162", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["bf16"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.bf16(x.bfloat16(), 0.3)


def get_inputs():
    return [torch.randn(12345)]


def get_init_inputs():
    return []
