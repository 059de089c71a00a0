"""Training batch norm and ReLU in C++: a channel at a time; running statistics moved in place."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <cmath>

constexpr int LANES = 32;

// Sum of (x - center)^power over a plane; lanes make it accurate and let it vectorise.
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

torch::Tensor batchnorm_train_forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias,
                                      torch::Tensor running_mean, torch::Tensor running_var) {
    TORCH_CHECK(x.scalar_type() == torch::kFloat && x.dim() == 4, "expected float32 images");
    TORCH_CHECK(running_mean.is_contiguous() && running_var.is_contiguous(),
                "the running statistics are changed in place");
    x = x.contiguous();
    weight = weight.contiguous();
    bias = bias.contiguous();
    auto y = torch::empty_like(x);
    const int64_t images = x.size(0), channels = x.size(1), plane = x.size(2) * x.size(3);
    const double count = images * plane;
    TORCH_CHECK(count > 1, "expected more than one value a channel");
    for (int64_t c = 0; c < channels; ++c) {
        const float* in = x.data_ptr<float>() + c * plane;
        float* out = y.data_ptr<float>() + c * plane;
        double total = 0, squares = 0;
        for (int64_t n = 0; n < images; ++n) total += sum<1>(in + n * channels * plane, 0.f, plane);
        const float mean = total / count;
        for (int64_t n = 0; n < images; ++n)
            squares += sum<2>(in + n * channels * plane, mean, plane);
        const float scale = weight.data_ptr<float>()[c] / std::sqrt(squares / count + 1e-5);
        const float shift = bias.data_ptr<float>()[c];
        for (int64_t n = 0; n < images; ++n)
            for (int64_t i = n * channels * plane; i < n * channels * plane + plane; ++i) {
                const float v = (in[i] - mean) * scale + shift;
                out[i] = v < 0.f ? 0.f : v;
            }
        float& moving_mean = running_mean.data_ptr<float>()[c];
        float& moving_var = running_var.data_ptr<float>()[c];
        moving_mean = 0.9 * moving_mean + 0.1 * mean;
        moving_var = 0.9 * moving_var + 0.1 * squares / (count - 1);
    }
    return y;
}
"""

extension = load_inline(
    name="batchnorm_train_cpu",
    cpp_sources=SOURCE,
    functions=["batchnorm_train_forward"],
    extra_cflags=["-O3", "-march=native"],
)


class ModelNew(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(channels) + 0.5)
        self.bias = nn.Parameter(torch.randn(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.batchnorm_train_forward(
            x, self.weight, self.bias, self.running_mean, self.running_var
        )
