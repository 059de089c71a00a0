"""Old-style checks: `x.type()`, `AT_ASSERTM`, `dtype()` and `strides()`."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "tensor_methods",
    "TORCH_CHECK",
)
EXPECT = "split"

cuda_source = r"""
#include <torch/extension.h>

#define CHECK_CUDA(x) AT_ASSERTM(x.type().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x, " must be contiguous, strides ", x.strides())
#define CHECK_INPUT(x) do { CHECK_CUDA(x); CHECK_CONTIGUOUS(x); } while (0)

__global__ void flip(const float* x, float* y, int rows, int cols, int64_t stride) {
    int r = blockIdx.x, c = threadIdx.x;
    if (r < rows && c < cols) y[r * stride + c] = x[(rows - 1 - r) * stride + c];
}

torch::Tensor flip_rows(torch::Tensor x) {
    CHECK_INPUT(x);
    TORCH_CHECK(x.dtype() == torch::kFloat32 && x.ndimension() == 2, "float matrix expected, not ", x.dtype(), " ", x.sizes());
    TORCH_CHECK_VALUE(x.size(1) <= 1024, "too wide");
    TORCH_INTERNAL_ASSERT(x.element_size() == 4);
    auto y = torch::empty(x.sizes(), x.options().memory_format(torch::MemoryFormat::Contiguous));
    flip<<<x.sizes()[0], x.sizes()[1]>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1), x.stride(0));
    return y;
}
"""

cpp_source = "torch::Tensor flip_rows(torch::Tensor x);"

ext = load_inline(
    name="type_checks", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["flip_rows"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.flip_rows(x)


def get_inputs():
    return [torch.randn(40, 512)]


def get_init_inputs():
    return []
