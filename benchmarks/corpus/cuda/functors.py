"""Element-wise operations as functors given to one kernel template, and a template template."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "functor_template",
    "template_template",
)
EXPECT = "split"

cuda_source = r"""
#include <torch/extension.h>

struct Sigmoid { __device__ float operator()(float x) const { return 1.f / (1.f + expf(-x)); } };
struct Shift {
    float by;
    __host__ __device__ explicit Shift(float b) : by(b) {}
    __device__ float operator()(float x) const { return x + by; }
};

template <typename T> struct Doubler { __device__ static T apply(T x) { return x + x; } };
template <typename T> struct Halver { __device__ static T apply(T x) { return x / T(2); } };

template <typename Op>
__global__ void map_kernel(const float* x, float* y, int n, Op op) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = op(x[i]);
}

template <template <typename> class Policy, typename T>
__global__ void policy_kernel(T* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = Policy<T>::apply(y[i]);
}

template <typename Op>
void map(const torch::Tensor& x, torch::Tensor& y, Op op) {
    int n = x.numel();
    map_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, op);
}

torch::Tensor chain(torch::Tensor x, double by) {
    auto y = torch::empty_like(x);
    map(x, y, Sigmoid());
    map(y, y, Shift(static_cast<float>(by)));
    int n = y.numel();
    policy_kernel<Doubler, float><<<(n + 255) / 256, 256>>>(y.data_ptr<float>(), n);
    policy_kernel<Halver><<<(n + 255) / 256, 256>>>(y.data_ptr<float>(), n);
    return y;
}
"""

cpp_source = "torch::Tensor chain(torch::Tensor x, double by);"

ext = load_inline(
    name="functors", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["chain"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.chain(x, 0.75)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
