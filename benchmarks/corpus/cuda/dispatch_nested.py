"""A gather dispatched twice: by the values' type and by the index's."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "dispatch_nested",
    "AT_DISPATCH_INDEX_TYPES",
)
EXPECT = "split"

CUDA_SRC = r"""
#include <torch/extension.h>

template <typename scalar_t, typename index_t>
__global__ void gather_rows(const scalar_t* table, const index_t* index, scalar_t* out, int width) {
    const index_t row = index[blockIdx.x];
    for (int c = threadIdx.x; c < width; c += blockDim.x)
        out[blockIdx.x * width + c] = table[row * width + c];
}

torch::Tensor gather(torch::Tensor table, torch::Tensor index) {
    const int64_t rows = index.size(0), width = table.size(1);
    auto out = torch::empty({rows, width}, table.options());
    AT_DISPATCH_FLOATING_TYPES(table.scalar_type(), "gather_values", [&] {
        using value_t = scalar_t;
        AT_DISPATCH_INDEX_TYPES(index.scalar_type(), "gather_index", [&] {
            gather_rows<value_t, index_t><<<rows, 128>>>(
                table.data_ptr<value_t>(), index.data_ptr<index_t>(), out.data_ptr<value_t>(), (int)width);
        });
    });
    return out;
}
"""

CPP_SRC = "torch::Tensor gather(torch::Tensor table, torch::Tensor index);"

ext = load_inline(
    name="dispatch_nested", cpp_sources=CPP_SRC, cuda_sources=CUDA_SRC, functions=["gather"]
)


class ModelNew(nn.Module):
    def forward(self, table, index):
        return ext.gather(table, index), ext.gather(table, index.int())


def get_inputs():
    return [torch.randn(100, 48), torch.randint(0, 100, (300,))]


def get_init_inputs():
    return []
