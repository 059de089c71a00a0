"""`load` with a C++ file, a CUDA file and a header that they share."""

import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load

TOPICS = (
    "load",
    "load_header",
)
EXPECT = "split"

folder = os.path.join(tempfile.mkdtemp(), "load_files")
os.makedirs(folder)
FILES = {
    "shared.h": r"""
#pragma once
#include <torch/extension.h>
torch::Tensor relu6_cuda(torch::Tensor x);
constexpr int kThreads = 256;
""",
    "binding.cpp": r"""
#include "shared.h"
torch::Tensor relu6(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "CUDA tensor expected");
    return relu6_cuda(x.contiguous());
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("relu6", &relu6, "ReLU6"); }
""",
    "relu6_kernel.cu": r"""
#include "shared.h"
#include "device_helpers.cuh"
__global__ void relu6_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < n) y[i] = clamp6(x[i]);
}
torch::Tensor relu6_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    relu6_kernel<<<(n + kThreads - 1) / kThreads, kThreads>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
""",
    "device_helpers.cuh": r"""
#pragma once
__device__ __forceinline__ float clamp6(float v) { return fminf(fmaxf(v, 0.f), 6.f); }
""",
}
for file_name, text in FILES.items():
    with open(os.path.join(folder, file_name), "w") as file:
        file.write(text)

ext = load(
    name="load_files",
    sources=[os.path.join(folder, name) for name in ["binding.cpp", "relu6_kernel.cu"]],
    extra_cuda_cflags=["-O3"],
    verbose=False,
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu6(x * 10)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
