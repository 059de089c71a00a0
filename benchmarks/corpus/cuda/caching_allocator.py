"""Scratch memory from `CUDACachingAllocator`, raw and as a `DataPtr`."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("CUDACachingAllocator",)
EXPECT = "split"

cuda_source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>

__global__ void fill(float* scratch, const float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) scratch[i] = 2.f * x[i]; }
__global__ void drain(const float* scratch, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = scratch[i] + 1.f; }

torch::Tensor through_scratch(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    auto stream = at::cuda::getCurrentCUDAStream();
    auto& allocator = *c10::cuda::CUDACachingAllocator::get();
    auto buffer = allocator.allocate(n * sizeof(float));
    float* scratch = static_cast<float*>(buffer.get());
    fill<<<(n + 255) / 256, 256, 0, stream>>>(scratch, x.data_ptr<float>(), n);
    void* raw = c10::cuda::CUDACachingAllocator::raw_alloc(n * sizeof(float));
    cudaMemcpyAsync(raw, scratch, n * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    drain<<<(n + 255) / 256, 256, 0, stream>>>(static_cast<float*>(raw), y.data_ptr<float>(), n);
    c10::cuda::CUDACachingAllocator::raw_delete(raw);
    return y;
}
"""

cpp_source = "torch::Tensor through_scratch(torch::Tensor x);"

ext = load_inline(
    name="caching_allocator",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["through_scratch"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.through_scratch(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
