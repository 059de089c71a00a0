"""Preprocessor conditionals on `__CUDA_ARCH__` and on the compiler."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("__CUDA_ARCH__",)
EXPECT = "split"

source = r"""
#include <torch/extension.h>

#if defined(__CUDACC__)
#define INLINE __forceinline__
#else
#define INLINE inline
#endif

__host__ __device__ INLINE int where() {
#ifdef __CUDA_ARCH__
    return __CUDA_ARCH__ >= 700 ? 2 : 1;
#else
    return 0;
#endif
}

__global__ void arch_kernel(const float* x, float* y, int n, int host) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
#if __CUDA_ARCH__ >= 800
    y[i] = x[i] + where() - host;
#elif __CUDA_ARCH__ >= 700
    y[i] = x[i] - where() - host;
#else
    y[i] = 0.f;
#endif
}

#if !defined(__CUDA_ARCH__)
static int host_only() { return where() + 40; }
#endif

torch::Tensor arch(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
#ifndef __CUDA_ARCH__
    arch_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, host_only());
#endif
    return y;
}
"""

declarations = "torch::Tensor arch(torch::Tensor x);"

ext = load_inline(
    name="cuda_arch_conditional", cpp_sources=declarations, cuda_sources=source, functions=["arch"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.arch(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
