"""Residual and RMS norm in CUDA: a block a row; the sum is written once and read once, cached."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

DECLARATION = """
std::vector<torch::Tensor> rmsnorm_residual_forward(torch::Tensor x, torch::Tensor residual,
                                                    torch::Tensor weight);
"""

SOURCE = r"""
#include <torch/extension.h>

constexpr int THREADS = 256;

__global__ void rmsnorm_residual_kernel(const float* x, const float* residual, const float* weight,
                                        float* normed, float* total, int64_t width) {
    __shared__ float warps[THREADS / 32];
    const int64_t start = blockIdx.x * width;
    float squares = 0.f;
    for (int64_t i = threadIdx.x; i < width; i += THREADS) {
        const float sum = x[start + i] + residual[start + i];
        total[start + i] = sum;
        squares += sum * sum;
    }
    for (int d = 16; d > 0; d /= 2) squares += __shfl_xor_sync(0xffffffff, squares, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = squares;
    __syncthreads();
    squares = 0.f;
    for (int w = 0; w < THREADS / 32; ++w) squares += warps[w];
    const float inverse = 1.f / sqrtf(squares / width + 1e-6f);
    // Each thread reads back the sums that it wrote itself.
    for (int64_t i = threadIdx.x; i < width; i += THREADS)
        normed[start + i] = total[start + i] * inverse * weight[i];
}

std::vector<torch::Tensor> rmsnorm_residual_forward(torch::Tensor x, torch::Tensor residual,
                                                    torch::Tensor weight) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat, "expected float32 on CUDA");
    TORCH_CHECK(residual.is_cuda() && residual.scalar_type() == torch::kFloat,
                "expected float32 on CUDA");
    TORCH_CHECK(x.dim() == 2 && x.sizes() == residual.sizes(), "expected matrices of one shape");
    TORCH_CHECK(weight.numel() == x.size(1), "widths differ");
    x = x.contiguous();
    residual = residual.contiguous();
    weight = weight.contiguous();
    auto normed = torch::empty_like(x);
    auto total = torch::empty_like(x);
    if (x.numel() > 0)
        rmsnorm_residual_kernel<<<x.size(0), THREADS>>>(
            x.data_ptr<float>(), residual.data_ptr<float>(), weight.data_ptr<float>(),
            normed.data_ptr<float>(), total.data_ptr<float>(), x.size(1));
    return {normed, total};
}
"""

extension = load_inline(
    name="rmsnorm_residual_cuda",
    cpp_sources=DECLARATION,
    cuda_sources=SOURCE,
    functions=["rmsnorm_residual_forward"],
)


class ModelNew(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(extension.rmsnorm_residual_forward(x, residual, self.weight))
