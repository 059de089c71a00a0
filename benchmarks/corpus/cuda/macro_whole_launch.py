"""A macro that hides the dispatch and the launch, and one that picks a block size."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "define_launch",
    "template_in_dispatch",
)
EXPECT = "split"

source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

template <typename scalar_t, int kThreads>
__global__ void reciprocal(const scalar_t* x, scalar_t* y, int n) {
    int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < n) y[i] = scalar_t(1) / (x[i] * x[i] + scalar_t(1));
}

#define RUN(THREADS)                                                                        \
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "reciprocal", ([&] {                        \
        reciprocal<scalar_t, THREADS><<<(n + THREADS - 1) / THREADS, THREADS, 0, stream>>>( \
            x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n);                             \
    }))

#define SWITCH_THREADS(threads)  \
    do {                         \
        switch (threads) {       \
            case 64: RUN(64); break;   \
            case 256: RUN(256); break; \
            default: TORCH_CHECK(false, "threads: ", threads); \
        }                        \
    } while (0)

torch::Tensor reciprocal_forward(torch::Tensor x, int64_t threads) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    SWITCH_THREADS(threads);
    return y;
}
"""

declarations = "torch::Tensor reciprocal_forward(torch::Tensor x, int64_t threads);"

ext = load_inline(
    name="macro_whole_launch",
    cpp_sources=declarations,
    cuda_sources=source,
    functions=["reciprocal_forward"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.reciprocal_forward(x, 64), ext.reciprocal_forward(x.double(), 256)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
