"""`curandState` without cuRAND's header."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("failing",)
EXPECT = "BUILD_FAILED"
PASS = "device"
MESSAGE = "curandState"

cuda_source = r"""
#include <torch/extension.h>
__global__ void k(float* y, unsigned long long seed) {
    curandState state;
    curand_init(seed, threadIdx.x, 0, &state);
    y[threadIdx.x] = curand_uniform(&state);
}
torch::Tensor forward(torch::Tensor x) { auto y = torch::empty_like(x); k<<<1, 256>>>(y.data_ptr<float>(), 1); return y; }
"""

cpp_source = "torch::Tensor forward(torch::Tensor x);"

ext = load_inline(
    name="missing_include", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["forward"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
