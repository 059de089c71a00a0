"""`with_pytorch_error_handling=False`."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("with_pytorch_error_handling",)
EXPECT = "split"

CUDA_SRC = r"""
#include <torch/extension.h>

__global__ void abs_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fabsf(x[i]);
}

torch::Tensor abs_forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    abs_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

CPP_SRC = "torch::Tensor abs_forward(torch::Tensor x);"

ext = load_inline(
    name="no_error_handling",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["abs_forward"],
    with_pytorch_error_handling=False,
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.abs_forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
