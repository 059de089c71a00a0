"""Running sums of rows in C++: a sum waits for the one before it, so eight rows go side by side."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
// `count` rows at once; sums in double, as rows may be long.
template <int count>
static void scan(const float* in, float* out, int64_t width) {
    double sums[count] = {};
    for (int64_t i = 0; i < width; ++i)
        for (int k = 0; k < count; ++k) {
            sums[k] += in[k * width + i];
            out[k * width + i] = sums[k];
        }
}

torch::Tensor cumsum_forward(torch::Tensor x) {
    TORCH_CHECK(x.scalar_type() == torch::kFloat && x.dim() == 2, "expected a float32 matrix");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    const int64_t rows = x.size(0), width = x.size(1);
    int64_t row = 0;
    for (; row + 8 <= rows; row += 8) scan<8>(in + row * width, out + row * width, width);
    for (; row < rows; ++row) scan<1>(in + row * width, out + row * width, width);
    return y;
}
"""

extension = load_inline(
    name="cumsum_cpu",
    cpp_sources=SOURCE,
    functions=["cumsum_forward"],
    extra_cflags=["-O3", "-march=native"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.cumsum_forward(x)
