"""Sums of rows in CUDA: a block a row, float4 loads where the addresses allow, warp shuffles."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

DECLARATION = "torch::Tensor row_sum_forward(torch::Tensor x);"

SOURCE = r"""
#include <torch/extension.h>

constexpr int THREADS = 256;

__global__ void row_sum_kernel(const float* x, float* y, int64_t width, bool aligned) {
    __shared__ float warps[THREADS / 32];
    x += blockIdx.x * width;
    const int64_t vectors = aligned ? width / 4 : 0;
    float sum = 0.f;
    for (int64_t i = threadIdx.x; i < vectors; i += THREADS) {
        const float4 v = reinterpret_cast<const float4*>(x)[i];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    for (int64_t i = 4 * vectors + threadIdx.x; i < width; i += THREADS) sum += x[i];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < THREADS / 32; ++w) sum += warps[w];
        y[blockIdx.x] = sum;
    }
}

torch::Tensor row_sum_forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat, "expected float32 on CUDA");
    TORCH_CHECK(x.dim() == 2, "expected a matrix");
    x = x.contiguous();
    auto y = torch::empty({x.size(0)}, x.options());
    if (x.size(0) == 0) return y;
    const float* in = x.data_ptr<float>();
    const bool aligned = reinterpret_cast<uintptr_t>(in) % 16 == 0 && x.size(1) % 4 == 0;
    row_sum_kernel<<<x.size(0), THREADS>>>(in, y.data_ptr<float>(), x.size(1), aligned);
    return y;
}
"""

extension = load_inline(
    name="row_sum_cuda",
    cpp_sources=DECLARATION,
    cuda_sources=SOURCE,
    functions=["row_sum_forward"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.row_sum_forward(x)
