"""A transpose through `packed_accessor32` and `packed_accessor64`."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("packed_accessor",)
EXPECT = "split"

CUDA_SRC = r"""
#include <torch/extension.h>

template <typename scalar_t>
__global__ void transpose_kernel(
    const torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> in,
    torch::PackedTensorAccessor64<scalar_t, 2, torch::DefaultPtrTraits> out) {
    const int r = blockIdx.y * blockDim.y + threadIdx.y;
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < in.size(0) && c < in.size(1)) out[c][r] = in[r][c];
}

__global__ void first_column(at::GenericPackedTensorAccessor<float, 3, at::RestrictPtrTraits, int32_t> x, float* y) {
    const int i = threadIdx.x;
    if (i < x.size(1)) y[blockIdx.x * x.size(1) + i] = x[blockIdx.x][i][0];
}

torch::Tensor transpose(torch::Tensor x) {
    auto out = torch::empty({x.size(1), x.size(0)}, x.options());
    const dim3 threads(16, 16);
    const dim3 blocks((x.size(1) + threads.x - 1) / threads.x, (x.size(0) + threads.y - 1) / threads.y);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "transpose", ([&] {
        transpose_kernel<scalar_t><<<blocks, threads>>>(
            x.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
            out.packed_accessor64<scalar_t, 2>());
    }));
    return out;
}

torch::Tensor column(torch::Tensor x) {
    auto out = torch::empty({x.size(0), x.size(1)}, x.options());
    first_column<<<x.size(0), 128>>>(x.packed_accessor32<float, 3, at::RestrictPtrTraits>(), out.data_ptr<float>());
    return out;
}
"""

CPP_SRC = r"""torch::Tensor transpose(torch::Tensor x);
torch::Tensor column(torch::Tensor x);"""

ext = load_inline(
    name="packed_accessor",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["transpose", "column"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.transpose(x), ext.transpose(x.double()), ext.column(x.view(8, 8, -1))


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
