"""Kernels, helpers and constants in an anonymous namespace."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("anonymous_namespace",)
EXPECT = "split"

cuda_source = r"""
#include <torch/extension.h>

namespace {

constexpr int kThreads = 192;
__constant__ float limits[2];

__device__ float clip(float v) { return fminf(fmaxf(v, limits[0]), limits[1]); }

__global__ void clip_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < n) y[i] = clip(x[i]);
}

template <typename scalar_t>
__global__ void flip_kernel(const scalar_t* x, scalar_t* y, int n) {
    int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < n) y[i] = x[n - 1 - i];
}

int grid(int64_t n) { return static_cast<int>((n + kThreads - 1) / kThreads); }

}  // namespace

torch::Tensor clip_flip(torch::Tensor x, double low, double high) {
    const float host[2] = {(float)low, (float)high};
    cudaMemcpyToSymbol(limits, host, sizeof(host));
    auto y = torch::empty_like(x), z = torch::empty_like(x);
    int n = x.numel();
    clip_kernel<<<grid(n), kThreads>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    AT_DISPATCH_FLOATING_TYPES(y.scalar_type(), "flip", [&] {
        flip_kernel<scalar_t><<<grid(n), kThreads>>>(y.data_ptr<scalar_t>(), z.data_ptr<scalar_t>(), n);
    });
    return z;
}
"""

cpp_source = "torch::Tensor clip_flip(torch::Tensor x, double low, double high);"

ext = load_inline(
    name="anonymous_namespace",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["clip_flip"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.clip_flip(x, -0.5, 1.0)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
