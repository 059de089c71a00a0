"""Class and function templates behind a hand-written module with defaults."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "cpu",
    "templates",
    "pybind_in_cpp",
    "pybind_defaults",
)
EXPECT = "split"

cpp_source = r"""
#include <torch/extension.h>

namespace {
template <typename T> struct Relu { static T apply(T v, T slope) { return v > T(0) ? v : v * slope; } };
template <template <typename> class Op, typename T>
void map(const T* in, T* out, int64_t n, T slope) { for (int64_t i = 0; i < n; ++i) out[i] = Op<T>::apply(in[i], slope); }
}  // namespace

torch::Tensor leaky(const torch::Tensor& x, double slope) {
    auto y = torch::empty_like(x);
    if (x.scalar_type() == torch::kFloat) map<Relu>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel(), (float)slope);
    else map<Relu>(x.data_ptr<double>(), y.data_ptr<double>(), x.numel(), slope);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.doc() = "leaky relu";
    m.def("leaky", &leaky, "x, slope", pybind11::arg("x"), pybind11::arg("slope") = 0.01);
}
"""

ext = load_inline(name="templates", cpp_sources=cpp_source)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.leaky(x), ext.leaky(x.double(), slope=0.5)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
