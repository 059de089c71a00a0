"""Mean and variance of rows in C++: both from one visit to the row, which stays in the cache."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
constexpr int LANES = 64;

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

std::vector<torch::Tensor> mean_variance_forward(torch::Tensor x) {
    TORCH_CHECK(x.scalar_type() == torch::kFloat && x.dim() == 2, "expected a float32 matrix");
    x = x.contiguous();
    auto means = torch::empty({x.size(0)}, x.options());
    auto variances = torch::empty({x.size(0)}, x.options());
    const int64_t width = x.size(1);
    for (int64_t row = 0; row < x.size(0); ++row) {
        const float* in = x.data_ptr<float>() + row * width;
        const float mean = sum<1>(in, 0.f, width) / width;
        means.data_ptr<float>()[row] = mean;
        variances.data_ptr<float>()[row] = sum<2>(in, mean, width) / width;
    }
    return {means, variances};
}
"""

extension = load_inline(
    name="mean_variance_cpu",
    cpp_sources=SOURCE,
    functions=["mean_variance_forward"],
    extra_cflags=["-O3", "-march=native"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(extension.mean_variance_forward(x))
