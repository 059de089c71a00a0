"""A method that a tensor does not have."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "cpu",
    "failing",
)
EXPECT = "BUILD_FAILED"
PASS = "host"
MESSAGE = "softplus_"

CPP_SRC = r"""torch::Tensor forward(torch::Tensor x) {
    return x.softplus_(1.0, 2.0);
}"""

ext = load_inline(name="fails_method", cpp_sources=CPP_SRC, functions=["forward"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
