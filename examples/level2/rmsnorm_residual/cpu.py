"""Residual and RMS norm in C++: a row is summed, measured and scaled while it is in the cache."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <cmath>

constexpr int LANES = 32;

std::vector<torch::Tensor> rmsnorm_residual_forward(torch::Tensor x, torch::Tensor residual,
                                                    torch::Tensor weight) {
    TORCH_CHECK(x.scalar_type() == torch::kFloat && x.dim() == 2, "expected a float32 matrix");
    TORCH_CHECK(residual.scalar_type() == torch::kFloat && x.sizes() == residual.sizes(),
                "expected a residual of the same shape");
    TORCH_CHECK(weight.numel() == x.size(1), "widths differ");
    x = x.contiguous();
    residual = residual.contiguous();
    weight = weight.contiguous();
    auto normed = torch::empty_like(x);
    auto total = torch::empty_like(x);
    const int64_t width = x.size(1);
    const float* scale = weight.data_ptr<float>();
    for (int64_t row = 0; row < x.size(0); ++row) {
        const float* a = x.data_ptr<float>() + row * width;
        const float* b = residual.data_ptr<float>() + row * width;
        float* out = normed.data_ptr<float>() + row * width;
        float* sum = total.data_ptr<float>() + row * width;
        for (int64_t i = 0; i < width; ++i) sum[i] = a[i] + b[i];
        float lanes[LANES] = {};
        int64_t i = 0;
        for (; i + LANES <= width; i += LANES)
            for (int k = 0; k < LANES; ++k) lanes[k] += sum[i + k] * sum[i + k];
        double squares = 0;
        for (float lane : lanes) squares += lane;
        for (; i < width; ++i) squares += sum[i] * sum[i];
        const float inverse = 1. / std::sqrt(squares / width + 1e-6);
        for (i = 0; i < width; ++i) out[i] = sum[i] * inverse * scale[i];
    }
    return {normed, total};
}
"""

extension = load_inline(
    name="rmsnorm_residual_cpu",
    cpp_sources=SOURCE,
    functions=["rmsnorm_residual_forward"],
    extra_cflags=["-O3", "-march=native"],
)


class ModelNew(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(extension.rmsnorm_residual_forward(x, residual, self.weight))
