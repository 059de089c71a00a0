"""Element by element, without an include."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "cpu",
    "includes_nothing",
)
EXPECT = "split"

declarations = r"""
torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    auto out = torch::empty_like(a);
    const float *pa = a.data_ptr<float>(), *pb = b.data_ptr<float>();
    float* po = out.data_ptr<float>();
    for (int64_t i = 0; i < a.numel(); ++i) po[i] = pa[i] + 2.0f * pb[i];
    return out;
}
"""

ext = load_inline(name="add", cpp_sources=declarations, functions=["forward"])


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ext.forward(a, b)


def get_inputs():
    return [torch.randn(64, 100), torch.randn(64, 100)]


def get_init_inputs():
    return []
