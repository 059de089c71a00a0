"""ReLU in CUDA: four elements a thread and step, where the addresses allow."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

DECLARATION = "torch::Tensor relu_forward(torch::Tensor x);"

SOURCE = r"""
#include <torch/extension.h>

__device__ float relu(float x) { return x < 0.f ? 0.f : x; }  // a NaN stays one

__global__ void relu_kernel(const float* x, float* y, int64_t vectors, int64_t n) {
    const int64_t first = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    const int64_t step = gridDim.x * (int64_t)blockDim.x;
    for (int64_t i = first; i < vectors; i += step) {
        const float4 v = reinterpret_cast<const float4*>(x)[i];
        reinterpret_cast<float4*>(y)[i] =
            make_float4(relu(v.x), relu(v.y), relu(v.z), relu(v.w));
    }
    for (int64_t i = 4 * vectors + first; i < n; i += step) y[i] = relu(x[i]);
}

torch::Tensor relu_forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat, "expected float32 on CUDA");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    const int64_t n = x.numel();
    if (n == 0) return y;
    const bool aligned = reinterpret_cast<uintptr_t>(in) % 16 == 0;
    const int64_t blocks = std::min<int64_t>((n + 1023) / 1024, 65535);
    relu_kernel<<<blocks, 256>>>(in, y.data_ptr<float>(), aligned ? n / 4 : 0, n);
    return y;
}
"""

extension = load_inline(
    name="relu_cuda",
    cpp_sources=DECLARATION,
    cuda_sources=SOURCE,
    functions=["relu_forward"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.relu_forward(x)
