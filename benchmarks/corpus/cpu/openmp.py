"""OpenMP over rows, with a reduction."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "cpu",
    "openmp",
)
EXPECT = "split"

declarations = r"""
#include <torch/extension.h>
#include <omp.h>
#include <vector>

std::vector<torch::Tensor> forward(torch::Tensor x) {
    TORCH_CHECK(!x.is_cuda(), "CPU tensor expected");
    x = x.contiguous();
    const int64_t rows = x.size(0), cols = x.size(1);
    auto y = torch::empty({rows}, x.options());
    const float* p = x.data_ptr<float>();
    float* q = y.data_ptr<float>();
    long positive = 0;
#pragma omp parallel for schedule(static) reduction(+ : positive)
    for (int64_t r = 0; r < rows; ++r) {
        float s = 0.f;
#pragma omp simd reduction(+ : s)
        for (int64_t c = 0; c < cols; ++c) s += p[r * cols + c];
        q[r] = s;
        positive += s > 0.f;
    }
    auto count = torch::full({1}, (int64_t)positive, torch::kLong);
    TORCH_CHECK(omp_get_max_threads() > 0);
    return {y, count};
}
"""

ext = load_inline(
    name="openmp",
    cpp_sources=declarations,
    functions=["forward"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
