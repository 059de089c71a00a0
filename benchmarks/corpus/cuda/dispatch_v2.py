"""`AT_DISPATCH_V2` with a type list and `AT_WRAP`."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("AT_DISPATCH_V2",)
EXPECT = "split"

CUDA_SRC = r"""
#include <torch/extension.h>
#include <ATen/Dispatch_v2.h>

template <typename scalar_t>
__global__ void negate_kernel(const scalar_t* x, scalar_t* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = -x[i];
}

torch::Tensor negate(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    AT_DISPATCH_V2(x.scalar_type(), "negate", AT_WRAP([&] {
        negate_kernel<scalar_t><<<(n + 255) / 256, 256>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n);
    }), AT_EXPAND(AT_FLOATING_TYPES), at::kHalf, at::kBFloat16, at::kInt);
    return y;
}
"""

CPP_SRC = "torch::Tensor negate(torch::Tensor x);"

ext = load_inline(
    name="dispatch_v2", cpp_sources=CPP_SRC, cuda_sources=CUDA_SRC, functions=["negate"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.negate(x), ext.negate(x.half()), ext.negate((x * 10).int())


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
