"""Correct and slow: each step is a pass of its own, with an indirect call an element."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <algorithm>
#include <functional>
#include <vector>

// x + bias, hard swish, times scale, plus residual; bias and scale go by column.
static inline float chain(float x, float bias, float scale, float residual) {
    const float shifted = x + bias;
    const float gate = shifted + 3.f;
    const float clamped = gate < 0.f ? 0.f : gate > 6.f ? 6.f : gate;
    return shifted * (clamped / 6.f) * scale + residual;
}

torch::Tensor chain_fast(torch::Tensor x, torch::Tensor residual, torch::Tensor bias,
                         torch::Tensor scale) {
    TORCH_CHECK(x.scalar_type() == torch::kFloat && x.dim() == 2, "expected a float32 matrix");
    TORCH_CHECK(x.sizes() == residual.sizes(), "shapes differ");
    TORCH_CHECK(bias.numel() == x.size(1) && scale.numel() == x.size(1), "widths differ");
    x = x.contiguous();
    residual = residual.contiguous();
    bias = bias.contiguous();
    scale = scale.contiguous();
    auto y = torch::empty_like(x);
    const int64_t rows = x.size(0), columns = x.size(1);
    const float* b = bias.data_ptr<float>();
    const float* s = scale.data_ptr<float>();
    for (int64_t row = 0; row < rows; ++row) {
        const float* in = x.data_ptr<float>() + row * columns;
        const float* r = residual.data_ptr<float>() + row * columns;
        float* out = y.data_ptr<float>() + row * columns;
        for (int64_t i = 0; i < columns; ++i) out[i] = chain(in[i], b[i], s[i], r[i]);
    }
    return y;
}

// Right, but each step is a pass of its own, with an indirect call an element.
torch::Tensor chain_slow(torch::Tensor x, torch::Tensor residual, torch::Tensor bias,
                         torch::Tensor scale) {
    using Step = std::function<void(float& v, float& gate, float bias, float scale, float r)>;
    const std::vector<Step> steps = {
        [](float& v, float&, float bias, float, float) { v += bias; },
        [](float& v, float& gate, float, float, float) { gate = v + 3.f; },
        [](float&, float& gate, float, float, float) {
            gate = std::min(std::max(gate, 0.f), 6.f);
        },
        [](float&, float& gate, float, float, float) { gate /= 6.f; },
        [](float& v, float& gate, float, float, float) { v *= gate; },
        [](float& v, float&, float, float scale, float) { v *= scale; },
        [](float& v, float&, float, float, float r) { v += r; },
    };
    residual = residual.contiguous();
    bias = bias.contiguous();
    scale = scale.contiguous();
    auto y = x.contiguous().clone();
    auto gates = torch::empty_like(y);
    const int64_t rows = x.size(0), columns = x.size(1);
    const float* b = bias.data_ptr<float>();
    const float* s = scale.data_ptr<float>();
    for (const Step& step : steps)
        for (int64_t row = 0; row < rows; ++row) {
            const float* r = residual.data_ptr<float>() + row * columns;
            float* out = y.data_ptr<float>() + row * columns;
            float* gate = gates.data_ptr<float>() + row * columns;
            for (int64_t i = 0; i < columns; ++i) step(out[i], gate[i], b[i], s[i], r[i]);
        }
    return y;
}

torch::Tensor chain_crash(torch::Tensor x) {
    volatile float* volatile nowhere = nullptr;
    *nowhere = 1.f;
    return x;
}

torch::Tensor chain_hang(torch::Tensor x) {
    volatile bool forever = true;
    while (forever) {
    }
    return x;
}
"""

extension = load_inline(
    name="hardswish_chain_cpu",
    cpp_sources=SOURCE,
    functions=["chain_fast", "chain_slow", "chain_crash", "chain_hang"],
    extra_cflags=["-O3", "-march=native"],
)


class ModelNew(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.randn(width))
        self.scale = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        return extension.chain_slow(x, residual, self.bias, self.scale)
