"""ReLU in C++: one pass that the compiler vectorises."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
torch::Tensor relu_forward(torch::Tensor x) {
    TORCH_CHECK(x.scalar_type() == torch::kFloat, "expected float32");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    const int64_t n = x.numel();
    for (int64_t i = 0; i < n; ++i)
        out[i] = in[i] < 0.f ? 0.f : in[i];  // a NaN stays one
    return y;
}
"""

extension = load_inline(
    name="relu_cpu",
    cpp_sources=SOURCE,
    functions=["relu_forward"],
    extra_cflags=["-O3", "-march=native"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.relu_forward(x)
