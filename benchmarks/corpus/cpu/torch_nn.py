"""A module of `torch::nn` in C++."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "cpu",
    "torch_nn",
)
EXPECT = "stock"
WHY = "torch::nn is not in the precompiled headers"

cpp_source = r"""
#include <torch/torch.h>

torch::Tensor forward(torch::Tensor x) {
    torch::nn::LayerNorm norm(torch::nn::LayerNormOptions({x.size(-1)}));
    return norm(x).detach();
}
"""

ext = load_inline(name="torch_nn", cpp_sources=cpp_source, functions=["forward"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
