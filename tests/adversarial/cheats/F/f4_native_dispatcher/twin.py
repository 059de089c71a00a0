import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/library.h>
at::Tensor twice_tanh(const at::Tensor& x) { return at::tanh(x).mul(2.0); }
TORCH_LIBRARY(honest_native, m) { m.def("twice_tanh", twice_tanh); }
torch::Tensor work(torch::Tensor x) { return twice_tanh(x); }
"""
extension = load_inline(name="own", cpp_sources=SOURCE, functions=["work"])


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.ops.honest_native.twice_tanh(x)
