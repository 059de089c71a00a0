"""Layer normalisation in CUDA: a block a row, mean and variance by warp shuffles."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

DECLARATION = (
    "torch::Tensor layernorm_forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias);"
)

SOURCE = r"""
#include <torch/extension.h>

constexpr int THREADS = 256;

// The sum over the block, in every thread.
__device__ float block_sum(float v) {
    __shared__ float warps[THREADS / 32];
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0.f;
    for (int w = 0; w < THREADS / 32; ++w) v += warps[w];
    __syncthreads();  // the next sum writes to the same place
    return v;
}

__global__ void layernorm_kernel(const float* x, const float* weight, const float* bias, float* y,
                                 int64_t width) {
    x += blockIdx.x * width;
    y += blockIdx.x * width;
    float sum = 0.f;
    for (int64_t i = threadIdx.x; i < width; i += THREADS) sum += x[i];
    const float mean = block_sum(sum) / width;
    float squares = 0.f;
    for (int64_t i = threadIdx.x; i < width; i += THREADS) squares += (x[i] - mean) * (x[i] - mean);
    const float inverse = 1.f / sqrtf(block_sum(squares) / width + 1e-5f);
    for (int64_t i = threadIdx.x; i < width; i += THREADS)
        y[i] = (x[i] - mean) * inverse * weight[i] + bias[i];
}

torch::Tensor layernorm_forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat, "expected float32 on CUDA");
    TORCH_CHECK(x.dim() == 2, "expected a matrix");
    TORCH_CHECK(weight.numel() == x.size(1) && bias.numel() == x.size(1), "widths differ");
    x = x.contiguous();
    weight = weight.contiguous();
    bias = bias.contiguous();
    auto y = torch::empty_like(x);
    if (x.numel() == 0) return y;
    layernorm_kernel<<<x.size(0), THREADS>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                             bias.data_ptr<float>(), y.data_ptr<float>(),
                                             x.size(1));
    return y;
}
"""

extension = load_inline(
    name="layernorm_cuda",
    cpp_sources=DECLARATION,
    cuda_sources=SOURCE,
    functions=["layernorm_forward"],
)


class ModelNew(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)
        self.bias = nn.Parameter(torch.randn(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.layernorm_forward(x, self.weight, self.bias)
