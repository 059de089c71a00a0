"""Nothing but torch operators."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "cpu",
    "aten_operators",
)
EXPECT = "split"

declarations = r"""
#include <torch/torch.h>

torch::Tensor forward(torch::Tensor x, torch::Tensor w) {
    torch::NoGradGuard no_grad;
    auto h = torch::relu(torch::mm(x, w));
    auto [values, indices] = h.topk(4, -1);
    return torch::softmax(values, -1) + indices.to(torch::kFloat) + torch::linspace(0, 1, 4);
}
"""

ext = load_inline(name="aten_only", cpp_sources=declarations, functions=["forward"])


class ModelNew(nn.Module):
    def forward(self, x, w):
        return ext.forward(x, w)


def get_inputs():
    return [torch.randn(20, 30), torch.randn(30, 40)]


def get_init_inputs():
    return []
