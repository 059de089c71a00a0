"""An `#error` of its own."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("failing",)
EXPECT = "BUILD_FAILED"
PASS = "source"
MESSAGE = "this kernel needs a newer device"

source = r"""
#include <torch/extension.h>
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 9990
#error this kernel needs a newer device
#endif


__global__ void k(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}

torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    k<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

declarations = "torch::Tensor forward(torch::Tensor x);"

ext = load_inline(
    name="hash_error", cpp_sources=declarations, cuda_sources=source, functions=["forward"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
