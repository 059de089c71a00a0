"""More static shared memory than a block can have."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("failing",)
EXPECT = "BUILD_FAILED"
PASS = "device"
MESSAGE = "too much shared data"

cuda_source = r"""
#include <torch/extension.h>
__global__ void k(const float* x, float* y, int n) {
    __shared__ float tile[65536];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[n - threadIdx.x];
}
torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    k<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), 255);
    return y;
}
"""

cpp_source = "torch::Tensor forward(torch::Tensor x);"

ext = load_inline(
    name="shared_too_large", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["forward"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
