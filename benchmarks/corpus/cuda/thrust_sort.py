"""A sort and a transform by Thrust on the tensor's memory."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("thrust",)
EXPECT = "stock"
WHY = "Thrust launches kernels that are templates of its own headers from its host side"

source = r"""
#include <torch/extension.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

struct Square { __host__ __device__ float operator()(float x) const { return x * x; } };

torch::Tensor sorted_squares(torch::Tensor x) {
    auto y = x.clone();
    thrust::device_ptr<float> begin(y.data_ptr<float>());
    thrust::transform(thrust::device, begin, begin + y.numel(), begin, Square());
    thrust::sort(thrust::device, begin, begin + y.numel());
    return y;
}
"""

declarations = "torch::Tensor sorted_squares(torch::Tensor x);"

ext = load_inline(
    name="thrust_sort", cpp_sources=declarations, cuda_sources=source, functions=["sorted_squares"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.sorted_squares(x)


def get_inputs():
    return [torch.randn(5000)]


def get_init_inputs():
    return []
