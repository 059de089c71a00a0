"""More dynamic shared memory than the default, asked for with `cudaFuncSetAttribute`."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "cudaFuncSetAttribute",
    "dynamic_shared",
)
EXPECT = "split"

CUDA_SRC = r"""
#include <torch/extension.h>

template <typename T, int kRows>
__global__ void reverse_kernel(const T* x, T* y, int cols) {
    extern __shared__ __align__(16) unsigned char raw[];
    T* tile = reinterpret_cast<T*>(raw);
    const int base = blockIdx.x * kRows * cols;
    for (int i = threadIdx.x; i < kRows * cols; i += blockDim.x) tile[i] = x[base + i];
    __syncthreads();
    for (int i = threadIdx.x; i < kRows * cols; i += blockDim.x) y[base + i] = tile[kRows * cols - 1 - i];
}

__global__ void plain_copy(const float* x, float* y, int n) {
    extern __shared__ float other[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) other[threadIdx.x] = x[i];
    __syncthreads();
    if (i < n) y[i] = other[threadIdx.x];
}

torch::Tensor reverse(torch::Tensor x) {
    const int cols = x.size(1);
    const size_t bytes = 4 * cols * sizeof(float);
    TORCH_CHECK(cudaFuncSetAttribute(reverse_kernel<float, 4>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes) == cudaSuccess);
    cudaFuncSetAttribute(plain_copy, cudaFuncAttributePreferredSharedMemoryCarveout, 50);
    cudaFuncSetCacheConfig(plain_copy, cudaFuncCachePreferShared);
    auto y = torch::empty_like(x), z = torch::empty_like(x);
    reverse_kernel<float, 4><<<x.size(0) / 4, 256, bytes>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
    int n = x.numel();
    plain_copy<<<(n + 255) / 256, 256, 256 * sizeof(float)>>>(y.data_ptr<float>(), z.data_ptr<float>(), n);
    return z;
}
"""

CPP_SRC = "torch::Tensor reverse(torch::Tensor x);"

ext = load_inline(
    name="dynamic_shared_attribute",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["reverse"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.reverse(x)


def get_inputs():
    return [torch.randn(32, 4096)]


def get_init_inputs():
    return []
