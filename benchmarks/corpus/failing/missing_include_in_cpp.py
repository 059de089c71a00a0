"""`at::cuda::getCurrentCUDAStream` in C++ without its header."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("failing",)
EXPECT = "BUILD_FAILED"
WHY = "a precompiled header that holds more than torch/extension.h must not make it compile"
PASS = "host"
MESSAGE = "cuda"

CUDA_SRC = r"""
#include <cuda_runtime.h>
__global__ void k(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }
void launch(const float* x, float* y, cudaStream_t s) { k<<<1, 256, 0, s>>>(x, y); }
"""

CPP_SRC = r"""#include <cuda_runtime.h>
void launch(const float* x, float* y, cudaStream_t s);
torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    launch(x.data_ptr<float>(), y.data_ptr<float>(), at::cuda::getCurrentCUDAStream());
    return y;
}
"""

ext = load_inline(
    name="missing_include_in_cpp", cpp_sources=CPP_SRC, cuda_sources=CUDA_SRC, functions=["forward"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
