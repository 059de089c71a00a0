"""AVX-512 intrinsics without the flag for them."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "cpu",
    "failing",
)
EXPECT = "BUILD_FAILED"
PASS = "host"

cpp_source = r"""#include <immintrin.h>
torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    _mm512_storeu_ps(y.data_ptr<float>(), _mm512_loadu_ps(x.data_ptr<float>()));
    return y;
}"""

ext = load_inline(name="fails_no_intrinsics", cpp_sources=cpp_source, functions=["forward"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(16)]


def get_init_inputs():
    return []
