"""LSTM with a library product a step, and everything between the products in one C++ pass.

The input's products for all steps are one product, made before the first step.
"""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <cmath>
#include <cstring>
#include <vector>

// exp(x) of x <= 0 within 2 ulp, without a branch or a call, so that loops over it vectorise.
static inline float exp_negative(float x) {
    const float bounded = x < -87.f ? -87.f : x;
    const float n = (bounded * 1.44269504f + 12582912.f) - 12582912.f;  // to the nearest integer
    const float r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.f;
    const int32_t bits = ((int32_t)n + 127) << 23;
    float power;
    std::memcpy(&power, &bits, 4);
    return x < -87.f ? 0.f : p * power;
}

static inline float sigmoid(float x) {
    const float e = exp_negative(-std::fabs(x));
    return (x < 0.f ? e : 1.f) / (1.f + e);
}

static inline float tanh_(float x) {
    const float e = exp_negative(-2.f * std::fabs(x));
    return std::copysign((1.f - e) / (1.f + e), x);
}

// Small loops, because the compiler vectorises them and not one large one.
template <bool tangent>
static void activate(const float* a, const float* b, float* out, int64_t n) {
    for (int64_t k = 0; k < n; ++k) out[k] = tangent ? tanh_(a[k] + b[k]) : sigmoid(a[k] + b[k]);
}

// projected: batch x steps x 4 hidden, recurrent: batch x 4 hidden, cell: batch x hidden (in
// place), outputs: batch x steps x hidden, of which this step is written.
void lstm_step(torch::Tensor projected, torch::Tensor recurrent, torch::Tensor cell,
               torch::Tensor outputs, int64_t step) {
    TORCH_CHECK(projected.scalar_type() == torch::kFloat, "expected float32");
    TORCH_CHECK(projected.is_contiguous() && recurrent.is_contiguous() && cell.is_contiguous() &&
                    outputs.is_contiguous(),
                "expected contiguous tensors");
    const int64_t batch = outputs.size(0), steps = outputs.size(1), hidden = outputs.size(2);
    std::vector<float> gates(4 * hidden);
    float *i = gates.data(), *f = i + hidden, *g = f + hidden, *o = g + hidden;
    for (int64_t b = 0; b < batch; ++b) {
        const float* p = projected.data_ptr<float>() + (b * steps + step) * 4 * hidden;
        const float* r = recurrent.data_ptr<float>() + b * 4 * hidden;
        float* c = cell.data_ptr<float>() + b * hidden;
        float* h = outputs.data_ptr<float>() + (b * steps + step) * hidden;
        activate<false>(p, r, i, 2 * hidden);  // f lies behind i
        activate<true>(p + 2 * hidden, r + 2 * hidden, g, hidden);
        activate<false>(p + 3 * hidden, r + 3 * hidden, o, hidden);
        for (int64_t k = 0; k < hidden; ++k) c[k] = f[k] * c[k] + i[k] * g[k];
        for (int64_t k = 0; k < hidden; ++k) h[k] = o[k] * tanh_(c[k]);
    }
}
"""

extension = load_inline(
    name="lstm_cpu",
    cpp_sources=SOURCE,
    functions=["lstm_step"],
    extra_cflags=["-O3", "-march=native"],
)


class ModelNew(nn.Module):
    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.weight_x = nn.Parameter(torch.randn(4 * hidden, inputs) / inputs**0.5)
        self.weight_h = nn.Parameter(torch.randn(4 * hidden, hidden) / hidden**0.5)
        self.bias = nn.Parameter(torch.randn(4 * hidden))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, steps, _ = x.shape
        hidden = self.weight_h.shape[1]
        projected = F.linear(x, self.weight_x, self.bias)
        recurrent = x.new_zeros(batch, 4 * hidden)
        cell = x.new_zeros(batch, hidden)
        outputs = x.new_empty(batch, steps, hidden)
        for step in range(steps):
            if step > 0:
                recurrent = outputs[:, step - 1] @ self.weight_h.t()
            extension.lstm_step(projected, recurrent, cell, outputs, step)
        return outputs
