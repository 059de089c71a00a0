"""`load` with two CUDA files: equal names of `static` kernels, a function of one used in the other."""

import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load

TOPICS = (
    "load",
    "several_cu_files",
    "static_kernel",
)
EXPECT = "split"

folder = os.path.join(tempfile.mkdtemp(), "load_two_cu")
os.makedirs(folder)
FILES = {
    "a.cu": r"""
#include <torch/extension.h>
static __global__ void step(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] += 1.f; }
namespace { __global__ void hidden(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2.f; } }
void run_a(torch::Tensor x) {
    int n = x.numel();
    step<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), n);
    hidden<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), n);
}
""",
    "b.cu": r"""
#include <torch/extension.h>
void run_a(torch::Tensor x);
static __global__ void step(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] -= 3.f; }
namespace { __global__ void hidden(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 0.25f; } }
torch::Tensor run_both(torch::Tensor x) {
    auto y = x.clone();
    int n = y.numel();
    run_a(y);
    step<<<(n + 255) / 256, 256>>>(y.data_ptr<float>(), n);
    hidden<<<(n + 255) / 256, 256>>>(y.data_ptr<float>(), n);
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run_both", &run_both); }
""",
}
for file_name, text in FILES.items():
    with open(os.path.join(folder, file_name), "w") as file:
        file.write(text)

ext = load(
    name="load_two_cu",
    sources=[os.path.join(folder, name) for name in ["a.cu", "b.cu"]],
    extra_cuda_cflags=["-O3"],
    verbose=False,
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run_both(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
