"""Loops that the compiler vectorises for this very processor."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "cpu",
    "march",
)
EXPECT = "split"

CPP_SRC = r"""
#include <torch/extension.h>
#include <algorithm>

torch::Tensor forward(torch::Tensor x) {
    auto y = torch::zeros_like(x);
    float* __restrict__ q = y.data_ptr<float>();
    const float* __restrict__ p = x.data_ptr<float>();
    const int64_t n = x.numel();
    for (int64_t i = 0; i < n; ++i) q[i] = std::max(p[i], 0.f) * 0.5f;
    return y;
}
"""

ext = load_inline(
    name="march_native",
    cpp_sources=CPP_SRC,
    functions=["forward"],
    extra_cflags=["-O3", "-march=native", "-funroll-loops"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
