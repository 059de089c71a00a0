"""Softmax with warp shuffles, a block reduction and launch bounds."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "warp_shuffle",
    "launch_bounds",
    "pragma_unroll",
)
EXPECT = "split"

cuda_source = r"""
#include <torch/extension.h>
#include <cfloat>

#define WARP 32
#define FULL_MASK 0xffffffffu

template <typename F>
__device__ float warp_reduce(float v, F f) {
#pragma unroll
    for (int o = WARP / 2; o > 0; o >>= 1) v = f(v, __shfl_xor_sync(FULL_MASK, v, o));
    return v;
}

__device__ float block_reduce(float v, bool maximum, float* shared) {
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    auto join = [=](float a, float b) { return maximum ? fmaxf(a, b) : a + b; };
    v = warp_reduce(v, join);
    if (lane == 0) shared[warp] = v;
    __syncthreads();
    v = lane < blockDim.x / WARP ? shared[lane] : (maximum ? -FLT_MAX : 0.f);
    v = warp_reduce(v, join);
    __syncthreads();
    return v;
}

__global__ void __launch_bounds__(256, 2) softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
    __shared__ float shared[WARP];
    x += (int64_t)blockIdx.x * cols;
    y += (int64_t)blockIdx.x * cols;
    float top = -FLT_MAX;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) top = fmaxf(top, x[c]);
    top = block_reduce(top, true, shared);
    float sum = 0.f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += __expf(x[c] - top);
    sum = block_reduce(sum, false, shared);
    for (int c = threadIdx.x; c < cols; c += blockDim.x) y[c] = __expf(x[c] - top) / sum;
}

__launch_bounds__(128) __global__ void scale_kernel(float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] *= 100.f;
}

torch::Tensor softmax(torch::Tensor x) {
    auto y = torch::empty_like(x);
    softmax_kernel<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    scale_kernel<<<(y.numel() + 127) / 128, 128>>>(y.data_ptr<float>(), y.numel());
    return y;
}
"""

cpp_source = "torch::Tensor softmax(torch::Tensor x);"

ext = load_inline(
    name="warp_softmax", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["softmax"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.softmax(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
