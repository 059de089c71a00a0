"""Tuples of tensors, numbers, strings and booleans in and out."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "tuple_return",
    "scalar_arguments",
)
EXPECT = "split"

CUDA_SRC = r"""
#include <torch/extension.h>
#include <string>
#include <tuple>

__global__ void min_max_kernel(const int* x, int* low, int* high, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicMin(low, x[i]);
        atomicMax(high, x[i]);
    }
}

std::tuple<torch::Tensor, torch::Tensor, int64_t> min_max(torch::Tensor x, bool check, const std::string& mode) {
    if (check) TORCH_CHECK(x.scalar_type() == torch::kInt, "min_max: int32 expected, mode ", mode);
    auto low = torch::full({}, INT_MAX, x.options());
    auto high = torch::full({}, INT_MIN, x.options());
    int n = x.numel();
    min_max_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<int>(), low.data_ptr<int>(), high.data_ptr<int>(), n);
    return std::make_tuple(low, high, (int64_t)n);
}
"""

CPP_SRC = r"""#include <string>
#include <tuple>
std::tuple<torch::Tensor, torch::Tensor, int64_t> min_max(torch::Tensor x, bool check, const std::string& mode);"""

ext = load_inline(name="tuples", cpp_sources=CPP_SRC, cuda_sources=CUDA_SRC, functions=["min_max"])


class ModelNew(nn.Module):
    def forward(self, x):
        low, high, n = ext.min_max(x, True, "both")
        assert n == x.numel()
        return low, high


def get_inputs():
    return [torch.randint(-1000, 1000, (5000,), dtype=torch.int32)]


def get_init_inputs():
    return []
