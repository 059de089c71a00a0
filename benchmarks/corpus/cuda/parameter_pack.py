"""A variadic kernel template that sums a pack of pointers."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("template_pack",)
EXPECT = "split"

CUDA_SRC = r"""
#include <torch/extension.h>

template <typename... Ptrs>
__global__ void sum_kernel(float* out, int n, Ptrs... in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (in[i] + ...);
}

template <int... Steps>
__global__ void steps_kernel(float* out) {
    const int steps[] = {Steps...};
    float s = 0.f;
    for (int k = 0; k < (int)sizeof...(Steps); ++k) s += steps[k];
    out[threadIdx.x] += s;
}

torch::Tensor sum3(torch::Tensor a, torch::Tensor b, torch::Tensor c) {
    auto out = torch::empty_like(a);
    const int n = out.numel();
    const float *pa = a.data_ptr<float>(), *pb = b.data_ptr<float>(), *pc = c.data_ptr<float>();
    sum_kernel<<<(n + 255) / 256, 256>>>(out.data_ptr<float>(), n, pa, pb, pc);
    sum_kernel<<<(n + 255) / 256, 256>>>(out.data_ptr<float>(), n, static_cast<const float*>(out.data_ptr<float>()), pa);
    steps_kernel<1, 2, 3><<<1, 32>>>(out.data_ptr<float>());
    return out;
}
"""

CPP_SRC = "torch::Tensor sum3(torch::Tensor a, torch::Tensor b, torch::Tensor c);"

ext = load_inline(
    name="parameter_pack", cpp_sources=CPP_SRC, cuda_sources=CUDA_SRC, functions=["sum3"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.sum3(x, x, x * 2)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
