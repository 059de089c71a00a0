"""A row sum: `torch::empty` with the input's options, contiguity and shape checks."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "torch_empty",
    "TORCH_CHECK",
    "dynamic_shared",
    "contiguous",
)
EXPECT = "split"

cuda_source = r"""
#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>

__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
    extern __shared__ float partial[];
    const int row = blockIdx.x;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += x[row * cols + c];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) partial[threadIdx.x] += partial[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[row] = partial[0];
}

torch::Tensor row_sum(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 2, "x must have 2 dimensions, not ", x.dim());
    TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
    if (!x.is_contiguous()) x = x.contiguous();
    const int rows = x.size(0), cols = x.size(1);
    auto y = torch::empty({rows}, x.options());
    const int threads = 256;
    row_sum_kernel<<<rows, threads, threads * sizeof(float)>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
    return y;
}
"""

cpp_source = "torch::Tensor row_sum(torch::Tensor x);"

ext = load_inline(
    name="empty_options", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["row_sum"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.row_sum(x.t())


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
