"""`PYBIND11_MODULE` by hand in the C++ source, with named arguments and defaults."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "pybind_in_cpp",
    "pybind_defaults",
)
EXPECT = "split"

CUDA_SRC = r"""
#include <torch/extension.h>

__global__ void hardtanh_kernel(const float* x, float* y, float low, float high, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fminf(fmaxf(x[i], low), high);
}

torch::Tensor hardtanh_cuda(torch::Tensor x, double low, double high) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    hardtanh_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), low, high, n);
    return y;
}
"""

CPP_SRC = r"""
#include <torch/extension.h>

torch::Tensor hardtanh_cuda(torch::Tensor x, double low, double high);

#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_CONTIGUOUS(x)

torch::Tensor hardtanh(torch::Tensor x, double low, double high) {
    CHECK_INPUT(x);
    return hardtanh_cuda(x, low, high);
}

namespace py = pybind11;

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("hardtanh", &hardtanh, "Hardtanh", py::arg("x"), py::arg("low") = -1.0, py::arg("high") = 1.0);
}
"""

ext = load_inline(name="pybind_in_cpp", cpp_sources=CPP_SRC, cuda_sources=CUDA_SRC)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.hardtanh(x), ext.hardtanh(x, high=0.25), ext.hardtanh(x=x, low=-0.5)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
