"""`at::parallel_for` with a dispatch over the floating types."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "cpu",
    "parallel_for",
    "AT_DISPATCH_FLOATING_TYPES",
)
EXPECT = "split"

declarations = r"""
#include <torch/extension.h>
#include <ATen/Parallel.h>
#include <cmath>

torch::Tensor forward(const torch::Tensor& input) {
    auto x = input.contiguous();
    auto y = torch::empty_like(x);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "swish", [&] {
        const scalar_t* in = x.data_ptr<scalar_t>();
        scalar_t* out = y.data_ptr<scalar_t>();
        at::parallel_for(0, x.numel(), 2048, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) out[i] = in[i] / (scalar_t(1) + std::exp(-in[i]));
        });
    });
    return y;
}
"""

ext = load_inline(
    name="parallel_for", cpp_sources=declarations, functions=["forward"], extra_cflags=["-O3"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x), ext.forward(x.double())


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
