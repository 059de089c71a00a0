"""A function to bind that nothing declares."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "cpu",
    "failing",
)
EXPECT = "BUILD_FAILED"
PASS = "host"
MESSAGE = "forward"

cpp_source = "torch::Tensor forwards(torch::Tensor x) { return x; }"

ext = load_inline(name="fails_not_declared", cpp_sources=cpp_source, functions=["forward"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
