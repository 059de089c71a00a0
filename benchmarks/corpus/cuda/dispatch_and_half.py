"""A leaky ReLU for float, double and half."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "AT_DISPATCH_FLOATING_TYPES_AND_HALF",
    "getCurrentCUDAStream_at",
    "fp16",
)
EXPECT = "split"

CUDA_SRC = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_fp16.h>

template <typename T>
__global__ void leaky_relu_kernel(const T* x, T* y, const float slope, const int64_t n) {
    for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)blockDim.x * gridDim.x) {
        const float v = static_cast<float>(x[i]);
        y[i] = static_cast<T>(v > 0.f ? v : v * slope);
    }
}

at::Tensor leaky_relu(const at::Tensor& x, double slope) {
    at::Tensor y = at::empty_like(x);
    auto stream = at::cuda::getCurrentCUDAStream();
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "leaky_relu", [&]() {
        leaky_relu_kernel<scalar_t><<<64, 256, 0, stream>>>(
            x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), static_cast<float>(slope), x.numel());
    });
    return y;
}
"""

CPP_SRC = "at::Tensor leaky_relu(const at::Tensor& x, double slope);"

ext = load_inline(
    name="dispatch_and_half", cpp_sources=CPP_SRC, cuda_sources=CUDA_SRC, functions=["leaky_relu"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.leaky_relu(x, 0.01), ext.leaky_relu(x.half(), 0.2)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
