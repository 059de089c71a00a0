"""Sums of rows in C++: many partial sums side by side, which is fast and accurate at once."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
constexpr int LANES = 64;

static float sum(const float* x, int64_t n) {
    float lanes[LANES] = {};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; ++k) lanes[k] += x[i + k];
    double total = 0;
    for (float lane : lanes) total += lane;
    for (; i < n; ++i) total += x[i];
    return total;
}

torch::Tensor row_sum_forward(torch::Tensor x) {
    TORCH_CHECK(x.scalar_type() == torch::kFloat && x.dim() == 2, "expected a float32 matrix");
    x = x.contiguous();
    auto y = torch::empty({x.size(0)}, x.options());
    for (int64_t row = 0; row < x.size(0); ++row)
        y.data_ptr<float>()[row] = sum(x.data_ptr<float>() + row * x.size(1), x.size(1));
    return y;
}
"""

extension = load_inline(
    name="row_sum_cpu",
    cpp_sources=SOURCE,
    functions=["row_sum_forward"],
    extra_cflags=["-O3", "-march=native"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.row_sum_forward(x)
