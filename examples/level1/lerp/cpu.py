"""Interpolation in C++: one pass over both inputs, where eager makes three."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
torch::Tensor lerp_forward(torch::Tensor x, torch::Tensor y, double weight) {
    TORCH_CHECK(x.scalar_type() == torch::kFloat && x.sizes() == y.sizes(), "expected float32");
    TORCH_CHECK(y.scalar_type() == torch::kFloat, "expected float32");
    x = x.contiguous();
    y = y.contiguous();
    auto z = torch::empty_like(x);
    const float* a = x.data_ptr<float>();
    const float* b = y.data_ptr<float>();
    float* out = z.data_ptr<float>();
    const float w = weight;
    const int64_t n = x.numel();
    for (int64_t i = 0; i < n; ++i) out[i] = a[i] + w * (b[i] - a[i]);
    return z;
}
"""

extension = load_inline(
    name="lerp_cpu",
    cpp_sources=SOURCE,
    functions=["lerp_forward"],
    extra_cflags=["-O3", "-march=native"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor, weight: float) -> torch.Tensor:
        return extension.lerp_forward(x, y, weight)
