"""Softplus over float, double, half and bfloat16 with `_AND2`."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "AT_DISPATCH_FLOATING_TYPES_AND2",
    "bf16",
)
EXPECT = "split"

source = r"""
#include <torch/extension.h>

template <typename scalar_t, typename acc_t = float>
__global__ void softplus_kernel(const scalar_t* x, scalar_t* y, int n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) {
        acc_t v = static_cast<acc_t>(x[i]);
        y[i] = static_cast<scalar_t>(v > acc_t(20) ? v : log1pf(expf(v)));
    }
}

torch::Tensor softplus(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    AT_DISPATCH_FLOATING_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, x.scalar_type(), "softplus", [&] {
        softplus_kernel<scalar_t, float><<<(n + 511) / 512, 512>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n);
    });
    return y;
}
"""

declarations = "torch::Tensor softplus(torch::Tensor x);"

ext = load_inline(
    name="dispatch_and2", cpp_sources=declarations, cuda_sources=source, functions=["softplus"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return [ext.softplus(x.to(t)) for t in (torch.float32, torch.float16, torch.bfloat16)]


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
