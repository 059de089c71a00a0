"""Correct and fast: one pass."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

DECLARATION = r"""
torch::Tensor chain_fast(torch::Tensor x, torch::Tensor residual, torch::Tensor bias,
                         torch::Tensor scale);
torch::Tensor chain_slow(torch::Tensor x, torch::Tensor residual, torch::Tensor bias,
                         torch::Tensor scale);
torch::Tensor chain_crash(torch::Tensor x);
torch::Tensor chain_hang(torch::Tensor x);
"""

SOURCE = r"""
#include <torch/extension.h>

// x + bias, hard swish, times scale, plus residual; bias and scale go by column.
__device__ float chain(float x, float bias, float scale, float residual) {
    const float shifted = x + bias;
    return shifted * (fminf(fmaxf(shifted + 3.f, 0.f), 6.f) / 6.f) * scale + residual;
}

__device__ float4 chain(float4 x, float4 b, float4 s, float4 r) {
    return make_float4(chain(x.x, b.x, s.x, r.x), chain(x.y, b.y, s.y, r.y),
                       chain(x.z, b.z, s.z, r.z), chain(x.w, b.w, s.w, r.w));
}

// A block a row. T is float or float4; `columns` counts elements of T.
template <typename T>
__global__ void fast_kernel(const T* x, const T* residual, const T* bias, const T* scale, T* y,
                            int64_t columns) {
    const int64_t start = blockIdx.x * columns;
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x)
        y[start + i] = chain(x[start + i], bias[i], scale[i], residual[start + i]);
}

template <typename T>
void launch(torch::Tensor x, torch::Tensor residual, torch::Tensor bias, torch::Tensor scale,
            torch::Tensor y) {
    fast_kernel<T><<<x.size(0), 256>>>(
        reinterpret_cast<const T*>(x.data_ptr<float>()),
        reinterpret_cast<const T*>(residual.data_ptr<float>()),
        reinterpret_cast<const T*>(bias.data_ptr<float>()),
        reinterpret_cast<const T*>(scale.data_ptr<float>()),
        reinterpret_cast<T*>(y.data_ptr<float>()), x.size(1) * sizeof(float) / sizeof(T));
}

bool aligned(torch::Tensor t) { return reinterpret_cast<uintptr_t>(t.data_ptr<float>()) % 16 == 0; }

torch::Tensor chain_fast(torch::Tensor x, torch::Tensor residual, torch::Tensor bias,
                         torch::Tensor scale) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat, "expected float32 on CUDA");
    TORCH_CHECK(x.dim() == 2 && x.sizes() == residual.sizes(), "expected matrices of one shape");
    TORCH_CHECK(bias.numel() == x.size(1) && scale.numel() == x.size(1), "widths differ");
    x = x.contiguous();
    residual = residual.contiguous();
    bias = bias.contiguous();
    scale = scale.contiguous();
    auto y = torch::empty_like(x);
    if (x.numel() == 0) return y;
    if (x.size(1) % 4 == 0 && aligned(x) && aligned(residual) && aligned(bias) && aligned(scale)) {
        launch<float4>(x, residual, bias, scale, y);
    } else {
        launch<float>(x, residual, bias, scale, y);
    }
    return y;
}

// Right, but with few threads, each of which walks whole rows: nothing coalesces.
__global__ void slow_kernel(const float* x, const float* residual, const float* bias,
                            const float* scale, float* y, int64_t rows, int64_t columns) {
    const int64_t first = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    for (int64_t row = first; row < rows; row += gridDim.x * (int64_t)blockDim.x)
        for (int64_t i = 0; i < columns; ++i)
            y[row * columns + i] =
                chain(x[row * columns + i], bias[i], scale[i], residual[row * columns + i]);
}

__global__ void crash_kernel(float* nowhere) { nowhere[threadIdx.x] = 1.f; }

__global__ void hang_kernel(volatile float* x) {
    while (x[0] * 0.f < 1.f) {
    }
}

torch::Tensor chain_slow(torch::Tensor x, torch::Tensor residual, torch::Tensor bias,
                         torch::Tensor scale) {
    x = x.contiguous();
    residual = residual.contiguous();
    bias = bias.contiguous();
    scale = scale.contiguous();
    auto y = torch::empty_like(x);
    slow_kernel<<<16, 32>>>(x.data_ptr<float>(), residual.data_ptr<float>(),
                            bias.data_ptr<float>(), scale.data_ptr<float>(), y.data_ptr<float>(),
                            x.size(0), x.size(1));
    return y;
}

torch::Tensor chain_crash(torch::Tensor x) {
    crash_kernel<<<1, 32>>>(nullptr);
    return x;
}

torch::Tensor chain_hang(torch::Tensor x) {
    hang_kernel<<<1, 1>>>(x.data_ptr<float>());
    return x;
}
"""

extension = load_inline(
    name="hardswish_chain_cuda",
    cpp_sources=DECLARATION,
    cuda_sources=SOURCE,
    functions=["chain_fast", "chain_slow", "chain_crash", "chain_hang"],
)


class ModelNew(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.randn(width))
        self.scale = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        return extension.chain_fast(x, residual, self.bias, self.scale)
