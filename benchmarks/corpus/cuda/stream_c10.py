"""Launches on `c10::cuda::getCurrentCUDAStream` under a device guard, with launch checks."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "getCurrentCUDAStream_c10",
    "CUDAGuard",
    "C10_CUDA_CHECK",
)
EXPECT = "split"

CUDA_SRC = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAException.h>

__global__ void cube(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i] * x[i];
}

torch::Tensor cube_forward(torch::Tensor x) {
    const c10::cuda::CUDAGuard guard(x.device());
    const at::cuda::OptionalCUDAGuard optional_guard(at::device_of(x));
    torch::Tensor y = torch::empty_like(x);
    const int n = static_cast<int>(x.numel());
    cudaStream_t stream = c10::cuda::getCurrentCUDAStream(x.get_device()).stream();
    cube<<<(n + 255) / 256, 256, 0, stream>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    C10_CUDA_CHECK(cudaGetLastError());
    return y;
}
"""

CPP_SRC = "torch::Tensor cube_forward(torch::Tensor x);"

ext = load_inline(
    name="stream_c10", cpp_sources=CPP_SRC, cuda_sources=CUDA_SRC, functions=["cube_forward"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.cube_forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
