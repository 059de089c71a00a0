"""`std::thread`s, each with rows of its own."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "cpu",
    "std_thread",
)
EXPECT = "split"

cpp_source = r"""
#include <torch/extension.h>
#include <thread>
#include <vector>

torch::Tensor forward(torch::Tensor x, int64_t count) {
    auto y = torch::empty_like(x);
    const float* p = x.data_ptr<float>();
    float* q = y.data_ptr<float>();
    const int64_t n = x.numel(), part = (n + count - 1) / count;
    std::vector<std::thread> threads;
    for (int64_t t = 0; t < count; ++t)
        threads.emplace_back([=] { for (int64_t i = t * part; i < std::min(n, (t + 1) * part); ++i) q[i] = p[i] * p[i]; });
    for (auto& t : threads) t.join();
    return y;
}
"""

ext = load_inline(
    name="threads",
    cpp_sources=cpp_source,
    functions=["forward"],
    extra_cflags=["-O2", "-pthread"],
    extra_ldflags=["-pthread"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x, 3)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
