"""Kernels, launches and their configurations written by `#define`."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "define_kernels",
    "define_launch",
)
EXPECT = "split"

source = r"""
#include <torch/extension.h>

#define THREADS 256
#define BLOCKS(n) (((n) + THREADS - 1) / THREADS)
#define KERNEL_LOOP(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)

#define DEFINE_UNARY(name, expression)                              \
    __global__ void name##_kernel(const float* in, float* out, int n) { \
        KERNEL_LOOP(i, n) { const float x = in[i]; out[i] = (expression); } \
    }                                                               \
    torch::Tensor name(torch::Tensor in) {                          \
        auto out = torch::empty_like(in);                           \
        const int n = in.numel();                                   \
        name##_kernel<<<BLOCKS(n), THREADS>>>(in.data_ptr<float>(), out.data_ptr<float>(), n); \
        return out;                                                 \
    }

DEFINE_UNARY(my_sin, sinf(x))
DEFINE_UNARY(my_swish, x / (1.f + expf(-x)))
DEFINE_UNARY(my_cubic, x * x * x - 2.f * x)

#define LAUNCH(kernel, n, ...) kernel<<<BLOCKS(n), THREADS, 0, 0>>>(__VA_ARGS__)
#define GLOBAL __global__ void

GLOBAL add_kernel(float* x, const float* y, int n) { KERNEL_LOOP(i, n) x[i] += y[i]; }

torch::Tensor my_sum(torch::Tensor x) {
    auto out = my_sin(x);
    auto more = my_swish(x);
    LAUNCH(add_kernel, x.numel(), out.data_ptr<float>(), more.data_ptr<float>(), (int)x.numel());
    return out;
}
"""

declarations = r"""torch::Tensor my_sin(torch::Tensor in);
torch::Tensor my_swish(torch::Tensor in);
torch::Tensor my_cubic(torch::Tensor in);
torch::Tensor my_sum(torch::Tensor x);"""

ext = load_inline(
    name="macro_kernels",
    cpp_sources=declarations,
    cuda_sources=source,
    functions=["my_sin", "my_swish", "my_cubic", "my_sum"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.my_sin(x), ext.my_swish(x), ext.my_cubic(x), ext.my_sum(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
