"""x transposed plus y in C++: by tiles that fit the cache, so that no line is fetched twice."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <algorithm>

constexpr int64_t TILE = 16;

torch::Tensor transpose_add_forward(torch::Tensor x, torch::Tensor y) {
    TORCH_CHECK(x.scalar_type() == torch::kFloat && x.dim() == 2, "expected float32 matrices");
    TORCH_CHECK(y.scalar_type() == torch::kFloat && y.dim() == 2, "expected float32 matrices");
    TORCH_CHECK(x.size(0) == y.size(1) && x.size(1) == y.size(0), "shapes do not match");
    x = x.contiguous();
    y = y.contiguous();
    auto z = torch::empty_like(y);
    const int64_t rows = y.size(0), columns = y.size(1);
    const float* a = x.data_ptr<float>();
    const float* b = y.data_ptr<float>();
    float* out = z.data_ptr<float>();
    float tile[TILE][TILE];
    for (int64_t j = 0; j < columns; j += TILE) {
        const int64_t width = std::min(TILE, columns - j);
        for (int64_t i = 0; i < rows; i += TILE) {
            const int64_t height = std::min(TILE, rows - i);
            for (int64_t c = 0; c < width; ++c)
                for (int64_t r = 0; r < height; ++r) tile[r][c] = a[(j + c) * rows + i + r];
            for (int64_t r = 0; r < height; ++r)
                for (int64_t c = 0; c < width; ++c)
                    out[(i + r) * columns + j + c] = tile[r][c] + b[(i + r) * columns + j + c];
        }
    }
    return z;
}
"""

extension = load_inline(
    name="transpose_add_cpu",
    cpp_sources=SOURCE,
    functions=["transpose_add_forward"],
    extra_cflags=["-O3", "-march=native"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return extension.transpose_add_forward(x, y)
