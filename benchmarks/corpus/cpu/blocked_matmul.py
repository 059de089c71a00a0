"""A blocked product, with a pack of options as plain arguments."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "cpu",
    "scalar_arguments",
)
EXPECT = "split"

CPP_SRC = r"""
#include <torch/extension.h>
#include <cstring>

at::Tensor forward(const at::Tensor& a, const at::Tensor& b, bool transpose, int64_t block, std::string mode) {
    TORCH_CHECK(mode == "fast" || mode == "slow", "mode: ", mode);
    auto B = transpose ? b.t().contiguous() : b.contiguous();
    const int64_t m = a.size(0), k = a.size(1), n = B.size(1);
    auto c = at::zeros({m, n}, a.options());
    const float *pa = a.data_ptr<float>(), *pb = B.data_ptr<float>();
    float* pc = c.data_ptr<float>();
    for (int64_t i0 = 0; i0 < m; i0 += block)
        for (int64_t p = 0; p < k; ++p)
            for (int64_t i = i0; i < std::min(m, i0 + block); ++i)
                for (int64_t j = 0; j < n; ++j) pc[i * n + j] += pa[i * k + p] * pb[p * n + j];
    return c;
}
"""

ext = load_inline(
    name="blocked_matmul", cpp_sources=CPP_SRC, functions=["forward"], extra_cflags=["-O3"]
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ext.forward(a, b, True, 16, "fast")


def get_inputs():
    return [torch.randn(40, 30), torch.randn(50, 30)]


def get_init_inputs():
    return []
