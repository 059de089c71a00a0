"""A value of the wrong type."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "cpu",
    "failing",
)
EXPECT = "BUILD_FAILED"
PASS = "host"

declarations = r"""torch::Tensor forward(torch::Tensor x) {
    float first = x[0];
    return x + first;
}"""

ext = load_inline(name="fails_type", cpp_sources=declarations, functions=["forward"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
