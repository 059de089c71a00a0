"""Optional tensors in, a tuple out, a list of numbers, an exception."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "cpu",
    "optional_tensor",
    "tuple_return",
    "exception",
)
EXPECT = "split"

declarations = r"""
#include <torch/extension.h>

std::tuple<torch::Tensor, torch::Tensor, double> forward(torch::Tensor x, std::optional<torch::Tensor> w, const std::vector<int64_t>& dims) {
    if (dims.size() != 2) throw std::invalid_argument("two dimensions expected");
    auto y = x.view({dims[0], dims[1]});
    auto z = w.has_value() ? y * *w : y + 1;
    return {y.sum(0), z.clone(), z.max().item<double>()};
}
"""

ext = load_inline(name="optional_and_tuple", cpp_sources=declarations, functions=["forward"])


class ModelNew(nn.Module):
    def forward(self, x):
        try:
            ext.forward(x, None, [1])
        except RuntimeError as error:  # torch maps every standard exception to it
            if "two dimensions" not in str(error):
                raise
        a, b, top = ext.forward(x, None, [100, 640])
        c, d, _ = ext.forward(x, torch.full((640,), 0.5), [100, 640])
        return a, b, c, d, torch.tensor(top)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
