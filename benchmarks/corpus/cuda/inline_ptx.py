"""Inline PTX: lane id, a fused multiply-add, a predicated load."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("inline_ptx",)
EXPECT = "split"

cuda_source = r"""
#include <torch/extension.h>

__device__ __forceinline__ unsigned lane_id() {
    unsigned id;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(id));
    return id;
}

__device__ float fma_ptx(float a, float b, float c) {
    float d;
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(d) : "f"(a), "f"(b), "f"(c));
    return d;
}

__device__ float load_streaming(const float* p, bool valid) {
    float v = 0.f;
    asm volatile(
        "{\n"
        "  .reg .pred p;\n"
        "  setp.ne.b32 p, %2, 0;\n"
        "  @p ld.global.cs.f32 %0, [%1];\n"
        "}\n" : "+f"(v) : "l"(p), "r"((int)valid) : "memory");
    return v;
}

__global__ void ptx_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = load_streaming(x + i, i < n);
    if (i < n) y[i] = fma_ptx(v, 2.f, (float)lane_id());
}

torch::Tensor ptx(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    ptx_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

cpp_source = "torch::Tensor ptx(torch::Tensor x);"

ext = load_inline(
    name="inline_ptx", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["ptx"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.ptx(x)


def get_inputs():
    return [torch.randn(10007)]


def get_init_inputs():
    return []
