"""Vector addition, the smallest submission there is."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "torch_empty_like",
    "data_ptr",
)
EXPECT = "split"

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void elementwise_add_kernel(const float* a, const float* b, float* out, int size) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < size) {
        out[idx] = a[idx] + b[idx];
    }
}

torch::Tensor elementwise_add_cuda(torch::Tensor a, torch::Tensor b) {
    auto size = a.numel();
    auto out = torch::zeros_like(a);

    const int block_size = 256;
    const int num_blocks = (size + block_size - 1) / block_size;

    elementwise_add_kernel<<<num_blocks, block_size>>>(a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), size);

    return out;
}
"""

declarations = "torch::Tensor elementwise_add_cuda(torch::Tensor a, torch::Tensor b);"

ext = load_inline(
    name="vector_add",
    cpp_sources=declarations,
    cuda_sources=source,
    functions=["elementwise_add_cuda"],
    verbose=True,
    extra_cflags=[""],
    extra_ldflags=[""],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.elementwise_add = ext

    def forward(self, a, b):
        return self.elementwise_add.elementwise_add_cuda(a, b)


def get_inputs():
    return [torch.randn(16, 1024), torch.randn(16, 1024)]


def get_init_inputs():
    return []
