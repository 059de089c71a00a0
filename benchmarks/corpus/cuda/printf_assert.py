"""`printf` and `assert` in a kernel, `printf` and `std::cout` on the host."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "device_printf",
    "device_assert",
)
EXPECT = "split"

source = r"""
#include <torch/extension.h>
#include <cassert>
#include <cstdio>
#include <iostream>

__global__ void checked(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(blockDim.x == 256);
    if (i == 0) printf("n = %d, first = %f\n", n, x[0]);
    if (i < n) {
        assert(isfinite(x[i]));
        y[i] = x[i] * 2.f;
    } else if (i > 1 << 30) {
        __trap();
    }
}

torch::Tensor checked_forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    if (n == 0) std::cout << "nothing to do" << std::endl;
    if (n < 0) { printf("%s\n", "impossible"); }
    checked<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

declarations = "torch::Tensor checked_forward(torch::Tensor x);"

ext = load_inline(
    name="printf_assert",
    cpp_sources=declarations,
    cuda_sources=source,
    functions=["checked_forward"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.checked_forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
