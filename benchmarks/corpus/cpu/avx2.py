"""AVX2 and FMA by intrinsics."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "cpu",
    "avx",
    "march",
)
EXPECT = "split"

declarations = r"""
#include <torch/extension.h>
#include <immintrin.h>

torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const float* p = x.data_ptr<float>();
    float* q = y.data_ptr<float>();
    const int64_t n = x.numel();
    int64_t i = 0;
    const __m256 two = _mm256_set1_ps(2.f), one = _mm256_set1_ps(1.f);
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(q + i, _mm256_fmadd_ps(_mm256_loadu_ps(p + i), two, one));
    for (; i < n; ++i) q[i] = 2.f * p[i] + 1.f;
    return y;
}
"""

ext = load_inline(
    name="avx2",
    cpp_sources=declarations,
    functions=["forward"],
    extra_cflags=["-O3", "-mavx2", "-mfma"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(1003)]


def get_init_inputs():
    return []
