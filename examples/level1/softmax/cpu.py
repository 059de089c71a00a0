"""Softmax of rows in C++: an exponential that vectorises, and a row that stays in the cache."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <algorithm>
#include <cmath>
#include <cstring>

constexpr int LANES = 32;

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

static void softmax_row(const float* in, float* out, int64_t n) {
    float lanes[LANES];
    std::fill(lanes, lanes + LANES, -INFINITY);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; ++k) lanes[k] = in[i + k] > lanes[k] ? in[i + k] : lanes[k];
    float highest = *std::max_element(lanes, lanes + LANES);
    for (; i < n; ++i) highest = std::max(highest, in[i]);

    for (i = 0; i < n; ++i) out[i] = exp_negative(in[i] - highest);

    std::fill(lanes, lanes + LANES, 0.f);
    for (i = 0; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; ++k) lanes[k] += out[i + k];
    double total = 0;
    for (float lane : lanes) total += lane;
    for (; i < n; ++i) total += out[i];

    const float factor = 1. / total;
    for (i = 0; i < n; ++i) out[i] *= factor;
}

torch::Tensor softmax_forward(torch::Tensor x) {
    TORCH_CHECK(x.scalar_type() == torch::kFloat && x.dim() == 2, "expected a float32 matrix");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int64_t width = x.size(1);
    for (int64_t row = 0; row < x.size(0); ++row)
        softmax_row(x.data_ptr<float>() + row * width, y.data_ptr<float>() + row * width, width);
    return y;
}
"""

extension = load_inline(
    name="softmax_cpu",
    cpp_sources=SOURCE,
    functions=["softmax_forward"],
    extra_cflags=["-O3", "-march=native"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.softmax_forward(x)
