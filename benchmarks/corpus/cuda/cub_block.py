"""A block reduction and a scan by CUB inside kernels."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("cub_block",)
EXPECT = "split"

CUDA_SRC = r"""
#include <torch/extension.h>
#include <cub/cub.cuh>

template <int kThreads>
__global__ void block_sums(const int* x, int* sums, int* scan, int n) {
    using Reduce = cub::BlockReduce<int, kThreads>;
    using Scan = cub::BlockScan<int, kThreads>;
    __shared__ union {
        typename Reduce::TempStorage reduce;
        typename Scan::TempStorage scan;
    } storage;
    const int i = blockIdx.x * kThreads + threadIdx.x;
    const int v = i < n ? x[i] : 0;
    int sum = Reduce(storage.reduce).Sum(v);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
    __syncthreads();
    int before = 0;
    Scan(storage.scan).ExclusiveSum(v, before);
    if (i < n) scan[i] = before;
}

std::vector<torch::Tensor> sums(torch::Tensor x) {
    int n = x.numel(), blocks = (n + 127) / 128;
    auto s = torch::empty({blocks}, x.options()), p = torch::empty_like(x);
    block_sums<128><<<blocks, 128>>>(x.data_ptr<int>(), s.data_ptr<int>(), p.data_ptr<int>(), n);
    return {s, p};
}
"""

CPP_SRC = "std::vector<torch::Tensor> sums(torch::Tensor x);"

ext = load_inline(name="cub_block", cpp_sources=CPP_SRC, cuda_sources=CUDA_SRC, functions=["sums"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.sums(x)


def get_inputs():
    return [torch.randint(-9, 9, (3000,), dtype=torch.int32)]


def get_init_inputs():
    return []
