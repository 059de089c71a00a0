"""`with_cuda=True` and C++ sources only: the runtime API without a kernel."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("with_cuda_cpp_only",)
EXPECT = "split"

cpp_source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime_api.h>

torch::Tensor copy_twice(torch::Tensor x) {
    auto y = torch::empty({2, x.numel()}, x.options());
    auto stream = at::cuda::getCurrentCUDAStream();
    for (int k = 0; k < 2; ++k) {
        cudaMemcpyAsync(y.data_ptr<float>() + k * x.numel(), x.data_ptr<float>(), x.nbytes(), cudaMemcpyDeviceToDevice, stream);
    }
    return y * 2;
}
"""

ext = load_inline(
    name="cpp_only_with_cuda", cpp_sources=cpp_source, functions=["copy_twice"], with_cuda=True
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.copy_twice(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
