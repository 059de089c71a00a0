"""An `extern "C"` kernel, overloaded kernels and an overloaded launcher."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "extern_c",
    "overloaded_kernels",
)
EXPECT = "split"

CUDA_SRC = r"""
#include <torch/extension.h>

extern "C" __global__ void c_kernel(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 10.f;
}

extern "C" {
__global__ void another_c_kernel(int* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] -= 10;
}
}

__global__ void twice(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2.f; }
__global__ void twice(int* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }
template <typename T> __global__ void twice(T* x, int n, T more) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] += more; }

static void go(float* x, int n) { twice<<<(n + 63) / 64, 64>>>(x, n); c_kernel<<<(n + 63) / 64, 64>>>(x, n); }
static void go(int* x, int n) { twice<<<(n + 63) / 64, 64>>>(x, n); another_c_kernel<<<(n + 63) / 64, 64>>>(x, n); }

torch::Tensor go_float(torch::Tensor x) {
    auto y = x.clone();
    go(y.data_ptr<float>(), (int)y.numel());
    twice<float><<<(y.numel() + 63) / 64, 64>>>(y.data_ptr<float>(), y.numel(), 0.5f);
    return y;
}

torch::Tensor go_int(torch::Tensor x) {
    auto y = x.to(torch::kInt).contiguous().clone();
    go(y.data_ptr<int>(), (int)y.numel());
    twice<<<(y.numel() + 63) / 64, 64>>>(y.data_ptr<int>(), (int)y.numel(), 5);
    return y;
}
"""

CPP_SRC = r"""torch::Tensor go_float(torch::Tensor x);
torch::Tensor go_int(torch::Tensor x);"""

ext = load_inline(
    name="extern_c_overloads",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["go_float", "go_int"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.go_float(x), ext.go_int(x * 10)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
