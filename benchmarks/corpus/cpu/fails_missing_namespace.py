"""A name of torch without its namespace."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "cpu",
    "failing",
)
EXPECT = "BUILD_FAILED"
PASS = "host"
MESSAGE = "relu"

CPP_SRC = r"""torch::Tensor forward(std::vector<float> x) {
    return relu(x);
}"""

ext = load_inline(name="fails_missing_namespace", cpp_sources=CPP_SRC, functions=["forward"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
