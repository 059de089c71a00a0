"""ReLU by `float4`, with a scalar tail and `__ldg`."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "float4",
    "__ldg",
)
EXPECT = "split"

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void relu4(const float4* __restrict__ x, float4* __restrict__ y, int n4) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n4) {
        float4 v = __ldg(&x[i]);
        v.x = fmaxf(v.x, 0.f); v.y = fmaxf(v.y, 0.f);
        v.z = fmaxf(v.z, 0.f); v.w = fmaxf(v.w, 0.f);
        y[i] = v;
    }
}

__global__ void relu1(const float* x, float* y, int from, int n) {
    const int i = from + threadIdx.x;
    if (i < n) y[i] = max(x[i], 0.f);
}

torch::Tensor relu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int n = x.numel(), n4 = n / 4;
    const float* in = x.const_data_ptr<float>();
    float* out = y.mutable_data_ptr<float>();
    if (n4 > 0) relu4<<<(n4 + 255) / 256, 256>>>((const float4*)in, (float4*)out, n4);
    if (n % 4) relu1<<<1, 4>>>(in, out, n4 * 4, n);
    return y;
}
"""

cpp_source = "torch::Tensor relu(torch::Tensor x);"

ext = load_inline(
    name="float4_relu", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["relu"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x)


def get_inputs():
    return [torch.randn(4099)]


def get_init_inputs():
    return []
