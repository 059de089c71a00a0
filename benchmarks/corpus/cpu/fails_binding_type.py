"""A bound function whose argument no converter takes."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "cpu",
    "failing",
)
EXPECT = "BUILD_FAILED"
PASS = "host"

declarations = "torch::Tensor forward(torch::Tensor x, float** table) { return table ? x : x + 1; }"

ext = load_inline(name="fails_binding_type", cpp_sources=declarations, functions=["forward"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
