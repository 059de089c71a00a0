"""A half-precision product on the tensor cores through `mma.h`."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "wmma",
    "fp16",
)
EXPECT = "split"

source = r"""
#include <torch/extension.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

__global__ void wmma_kernel(const half* a, const half* b, float* c, int m, int n, int k) {
    const int row = blockIdx.y * 16, col = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(fa, a + row * k + i, k);
        wmma::load_matrix_sync(fb, b + i * n + col, n);
        wmma::mma_sync(acc, fa, fb, acc);
    }
    wmma::store_matrix_sync(c + row * n + col, acc, n, wmma::mem_row_major);
}

torch::Tensor wmma_matmul(torch::Tensor a, torch::Tensor b) {
    TORCH_CHECK(a.dtype() == torch::kHalf && b.dtype() == torch::kHalf);
    const int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::zeros({m, n}, a.options().dtype(torch::kFloat));
    dim3 grid(n / 16, m / 16);
    wmma_kernel<<<grid, 32>>>(reinterpret_cast<const half*>(a.data_ptr<at::Half>()),
                              reinterpret_cast<const half*>(b.data_ptr<at::Half>()), c.data_ptr<float>(), m, n, k);
    return c;
}
"""

declarations = "torch::Tensor wmma_matmul(torch::Tensor a, torch::Tensor b);"

ext = load_inline(
    name="wmma_matmul", cpp_sources=declarations, cuda_sources=source, functions=["wmma_matmul"]
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ext.wmma_matmul(a.half(), b.half())


def get_inputs():
    return [torch.randn(64, 128), torch.randn(128, 96)]


def get_init_inputs():
    return []
