"""Kernels in nested namespaces, called by qualified names and by `using`."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("nested_namespaces",)
EXPECT = "split"

CUDA_SRC = r"""
#include <torch/extension.h>

namespace ops::math {
struct Config { int threads = 128; };
namespace detail {
__global__ void scale(float* x, float by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}
}  // namespace detail
template <typename T>
__global__ void offset(T* x, T by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += by;
}
void run(torch::Tensor& x) {
    const int n = x.numel();
    Config config;
    detail::scale<<<(n + config.threads - 1) / config.threads, config.threads>>>(x.data_ptr<float>(), 2.f, n);
}
}  // namespace ops::math

namespace other {
namespace {
__global__ void scale(float* x, float by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] /= by;
}
}
inline namespace v1 {
void run(torch::Tensor& x) { scale<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), 4.f, x.numel()); }
}
}

namespace om = ops::math;

torch::Tensor run_all(torch::Tensor x) {
    auto y = x.clone();
    om::run(y);
    other::run(y);
    const int n = y.numel();
    ::ops::math::offset<float><<<(n + 255) / 256, 256>>>(y.data_ptr<float>(), 1.f, n);
    using ops::math::detail::scale;
    scale<<<(n + 255) / 256, 256>>>(y.data_ptr<float>(), 3.f, n);
    return y;
}
"""

CPP_SRC = "torch::Tensor run_all(torch::Tensor x);"

ext = load_inline(
    name="nested_namespaces", cpp_sources=CPP_SRC, cuda_sources=CUDA_SRC, functions=["run_all"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run_all(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
