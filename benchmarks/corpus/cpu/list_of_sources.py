"""Several texts in `cpp_sources`; a dict of `functions`."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "cpu",
    "several_sources",
    "functions_dict",
)
EXPECT = "split"

HELPERS = r"""
#include <torch/extension.h>
static float square(float v) { return v * v; }
"""
MAIN = r"""
#include <torch/extension.h>
torch::Tensor squares(torch::Tensor x) {
    auto y = torch::empty_like(x);
    for (int64_t i = 0; i < x.numel(); ++i) y.data_ptr<float>()[i] = square(x.data_ptr<float>()[i]);
    return y;
}
"""

ext = load_inline(
    name="list_of_sources", cpp_sources=[HELPERS, MAIN], functions={"squares": "x squared"}
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.squares(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
