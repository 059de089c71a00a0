"""Layer normalisation in C++: mean, variance and result of a row while it is in the cache."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <cmath>

constexpr int LANES = 32;

// Sum of (x - center)^power over a row; lanes make it accurate and let it vectorise.
template <int power>
static float sum(const float* x, float center, int64_t n) {
    auto term = [&](int64_t at) {
        const float d = x[at] - center;
        return power == 2 ? d * d : d;
    };
    float lanes[LANES] = {};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; ++k) lanes[k] += term(i + k);
    double total = 0;
    for (float lane : lanes) total += lane;
    for (; i < n; ++i) total += term(i);
    return total;
}

torch::Tensor layernorm_forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    TORCH_CHECK(x.scalar_type() == torch::kFloat && x.dim() == 2, "expected a float32 matrix");
    TORCH_CHECK(weight.numel() == x.size(1) && bias.numel() == x.size(1), "widths differ");
    x = x.contiguous();
    weight = weight.contiguous();
    bias = bias.contiguous();
    auto y = torch::empty_like(x);
    const int64_t width = x.size(1);
    const float* scale = weight.data_ptr<float>();
    const float* shift = bias.data_ptr<float>();
    for (int64_t row = 0; row < x.size(0); ++row) {
        const float* in = x.data_ptr<float>() + row * width;
        float* out = y.data_ptr<float>() + row * width;
        const float mean = sum<1>(in, 0.f, width) / width;
        const float inverse = 1.f / std::sqrt(sum<2>(in, mean, width) / width + 1e-5f);
        for (int64_t i = 0; i < width; ++i)
            out[i] = (in[i] - mean) * inverse * scale[i] + shift[i];
    }
    return y;
}
"""

extension = load_inline(
    name="layernorm_cpu",
    cpp_sources=SOURCE,
    functions=["layernorm_forward"],
    extra_cflags=["-O3", "-march=native"],
)


class ModelNew(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)
        self.bias = nn.Parameter(torch.randn(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.layernorm_forward(x, self.weight, self.bias)
