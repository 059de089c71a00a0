"""A class with a constructor and methods, bound with `py::class_`."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("pybind_class",)
EXPECT = "stock"
WHY = "bindings of classes need pybind11 itself"

source = r"""
#include <torch/extension.h>

__global__ void accumulate_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + 1.f;
}

torch::Tensor plus_one(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    accumulate_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}

#include <pybind11/pybind11.h>
namespace py = pybind11;

class Accumulator {
   public:
    explicit Accumulator(int64_t times) : times_(times) {}
    torch::Tensor run(torch::Tensor x) const {
        for (int64_t k = 0; k < times_; ++k) x = plus_one(x);
        return x;
    }
   private:
    int64_t times_;
};

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    py::class_<Accumulator>(m, "Accumulator").def(py::init<int64_t>()).def("run", &Accumulator::run);
}
"""

declarations = ""

ext = load_inline(name="pybind_class", cpp_sources=declarations, cuda_sources=source)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.Accumulator(3).run(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
