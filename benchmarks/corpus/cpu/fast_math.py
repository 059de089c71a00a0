"""`-O3 -ffast-math` and accessors."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "cpu",
    "fast_math",
    "accessor",
)
EXPECT = "split"

CPP_SRC = r"""
#include <torch/extension.h>
#include <cmath>

torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    auto a = x.accessor<float, 2>();
    auto b = y.accessor<float, 1>();
    for (int64_t r = 0; r < x.size(0); ++r) {
        float top = a[r][0];
        for (int64_t c = 1; c < x.size(1); ++c) top = a[r][c] > top ? a[r][c] : top;
        b[r] = std::fabs(top) * 0.5f;
    }
    return y;
}
"""

ext = load_inline(
    name="fast_math",
    cpp_sources=CPP_SRC,
    functions=["forward"],
    extra_cflags=["-O3", "-ffast-math"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
