"""A square that accumulates in float, for the reduced floating types."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "AT_DISPATCH_REDUCED_FLOATING_TYPES",
    "opmath",
)
EXPECT = "split"

cuda_source = r"""
#include <torch/extension.h>
#include <ATen/OpMathType.h>

template <typename scalar_t>
__global__ void square_kernel(const scalar_t* x, scalar_t* y, int n) {
    using opmath_t = at::opmath_type<scalar_t>;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        opmath_t v = static_cast<opmath_t>(x[i]);
        y[i] = static_cast<scalar_t>(v * v);
    }
}

torch::Tensor square(const torch::Tensor& x) {
    torch::Tensor y = torch::empty_like(x);
    const int n = x.numel();
    AT_DISPATCH_REDUCED_FLOATING_TYPES(x.scalar_type(), "square", [&] {
        square_kernel<scalar_t><<<(n + 255) / 256, 256>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n);
    });
    return y;
}
"""

cpp_source = "torch::Tensor square(const torch::Tensor& x);"

ext = load_inline(
    name="dispatch_reduced", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["square"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.square(x.half()), ext.square(x.bfloat16())


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
