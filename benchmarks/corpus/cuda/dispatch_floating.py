"""GELU for every floating type through `AT_DISPATCH_FLOATING_TYPES`."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "AT_DISPATCH_FLOATING_TYPES",
    "template_in_dispatch",
)
EXPECT = "split"

CUDA_SRC = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <vector>

template <typename scalar_t>
__device__ __forceinline__ scalar_t gelu(scalar_t x) {
    return x * scalar_t(0.5) * (scalar_t(1.0) + erf(x * scalar_t(0.70710678118654752)));
}

template <typename scalar_t>
__global__ void gelu_kernel(const scalar_t* __restrict__ in, scalar_t* __restrict__ out, size_t n) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) out[i] = gelu(in[i]);
}

torch::Tensor gelu_forward(torch::Tensor input) {
    auto output = torch::empty_like(input);
    const size_t n = input.numel();
    const int threads = 1024;
    const int blocks = (n + threads - 1) / threads;
    AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "gelu_forward", ([&] {
        gelu_kernel<scalar_t><<<blocks, threads>>>(
            input.data_ptr<scalar_t>(), output.data_ptr<scalar_t>(), n);
    }));
    return output;
}
"""

CPP_SRC = "torch::Tensor gelu_forward(torch::Tensor input);"

ext = load_inline(
    name="dispatch_floating", cpp_sources=CPP_SRC, cuda_sources=CUDA_SRC, functions=["gelu_forward"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.gelu_forward(x), ext.gelu_forward(x.double())


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
