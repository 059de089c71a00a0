"""Declared, bound, never defined."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "cpu",
    "failing",
)
EXPECT = "LOAD_FAILED"
PASS = "load"

declarations = "torch::Tensor forward(torch::Tensor x);"

ext = load_inline(name="fails_never_defined", cpp_sources=declarations, functions=["forward"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
