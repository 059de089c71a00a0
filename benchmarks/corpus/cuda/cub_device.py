"""A sum of a whole tensor by `cub::DeviceReduce`, called from the host."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("cub_device",)
EXPECT = "stock"
WHY = "the host side of CUB launches kernels that are templates of CUB's own headers"

CUDA_SRC = r"""
#include <torch/extension.h>
#include <cub/cub.cuh>

torch::Tensor total(torch::Tensor x) {
    auto out = torch::empty({1}, x.options());
    size_t bytes = 0;
    cub::DeviceReduce::Sum(nullptr, bytes, x.data_ptr<float>(), out.data_ptr<float>(), (int)x.numel());
    auto scratch = torch::empty({(int64_t)bytes}, x.options().dtype(torch::kUInt8));
    cub::DeviceReduce::Sum(scratch.data_ptr<uint8_t>(), bytes, x.data_ptr<float>(), out.data_ptr<float>(), (int)x.numel());
    return out;
}
"""

CPP_SRC = "torch::Tensor total(torch::Tensor x);"

ext = load_inline(
    name="cub_device", cpp_sources=CPP_SRC, cuda_sources=CUDA_SRC, functions=["total"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.total(x.round())


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
