"""Interpolation in CUDA: one pass of float4 loads and stores, where the addresses allow."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

DECLARATION = "torch::Tensor lerp_forward(torch::Tensor x, torch::Tensor y, double weight);"

SOURCE = r"""
#include <torch/extension.h>

__device__ float between(float a, float b, float w) { return a + w * (b - a); }

__global__ void lerp_kernel(const float* x, const float* y, float* z, float w, int64_t vectors,
                            int64_t n) {
    const int64_t first = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    const int64_t step = gridDim.x * (int64_t)blockDim.x;
    for (int64_t i = first; i < vectors; i += step) {
        const float4 a = reinterpret_cast<const float4*>(x)[i];
        const float4 b = reinterpret_cast<const float4*>(y)[i];
        reinterpret_cast<float4*>(z)[i] = make_float4(between(a.x, b.x, w), between(a.y, b.y, w),
                                                      between(a.z, b.z, w), between(a.w, b.w, w));
    }
    for (int64_t i = 4 * vectors + first; i < n; i += step) z[i] = between(x[i], y[i], w);
}

torch::Tensor lerp_forward(torch::Tensor x, torch::Tensor y, double weight) {
    TORCH_CHECK(x.is_cuda() && y.is_cuda(), "expected CUDA tensors");
    TORCH_CHECK(x.scalar_type() == torch::kFloat && x.sizes() == y.sizes(), "expected float32");
    TORCH_CHECK(y.scalar_type() == torch::kFloat, "expected float32");
    x = x.contiguous();
    y = y.contiguous();
    auto z = torch::empty_like(x);
    const float* a = x.data_ptr<float>();
    const float* b = y.data_ptr<float>();
    const int64_t n = x.numel();
    if (n == 0) return z;
    const bool aligned =
        (reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b)) % 16 == 0;
    const int64_t blocks = std::min<int64_t>((n + 1023) / 1024, 65535);
    lerp_kernel<<<blocks, 256>>>(a, b, z.data_ptr<float>(), weight, aligned ? n / 4 : 0, n);
    return z;
}
"""

extension = load_inline(
    name="lerp_cuda",
    cpp_sources=DECLARATION,
    cuda_sources=SOURCE,
    functions=["lerp_forward"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, weight: float) -> torch.Tensor:
        return extension.lerp_forward(x, y, weight)
