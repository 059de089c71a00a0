"""An include of a header that is not there."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "cpu",
    "failing",
)
EXPECT = "BUILD_FAILED"
PASS = "host"
MESSAGE = "mkl_vml_fast.h"

CPP_SRC = r"""#include "mkl_vml_fast.h"
torch::Tensor forward(torch::Tensor x) { return x; }"""

ext = load_inline(name="fails_no_such_header", cpp_sources=CPP_SRC, functions=["forward"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
