"""`-D` defines that size the kernel and choose a branch."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "flag_define",
    "extra_cflags",
)
EXPECT = "split"

CUDA_SRC = r"""
#include <torch/extension.h>

#ifndef BLOCK_SIZE
#error "BLOCK_SIZE must be given"
#endif

__global__ void sized(const float* x, float* y, int n) {
    __shared__ float tile[BLOCK_SIZE];
    int i = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0.f;
    __syncthreads();
#ifdef USE_NEIGHBOUR
    float v = tile[threadIdx.x] + tile[(threadIdx.x + 1) % BLOCK_SIZE];
#else
    float v = tile[threadIdx.x];
#endif
    if (i < n) y[i] = v * SCALE;
}

torch::Tensor sized_forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    sized<<<(n + BLOCK_SIZE - 1) / BLOCK_SIZE, BLOCK_SIZE>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

CPP_SRC = r"""#ifndef FROM_PYTHON
#error no
#endif
torch::Tensor sized_forward(torch::Tensor x);"""

ext = load_inline(
    name="flags_define",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["sized_forward"],
    extra_cuda_cflags=["-DBLOCK_SIZE=128", "-DUSE_NEIGHBOUR", "-DSCALE=0.5f"],
    extra_cflags=["-DFROM_PYTHON=1", "-O2", "-Wno-unused-variable"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.sized_forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
