"""`static` kernels and `static` device functions and variables."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("static_kernel",)
EXPECT = "split"

cuda_source = r"""
#include <torch/extension.h>

static __device__ float factor = 3.f;
static __device__ __forceinline__ float twist(float v) { return v * factor + 1.f; }

static __global__ void first(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = twist(x[i]);
}

template <typename T>
static __global__ void second(T* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] -= T(2);
}

__global__ static void third(float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] *= 0.5f;
}

static inline int blocks_for(int n) { return (n + 255) / 256; }

torch::Tensor twisted(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    const float f = 1.5f;
    cudaMemcpyToSymbol(factor, &f, sizeof f);
    first<<<blocks_for(n), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    second<float><<<blocks_for(n), 256>>>(y.data_ptr<float>(), n);
    third<<<blocks_for(n), 256>>>(y.data_ptr<float>(), n);
    return y;
}
"""

cpp_source = "torch::Tensor twisted(torch::Tensor x);"

ext = load_inline(
    name="static_kernel", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["twisted"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.twisted(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
