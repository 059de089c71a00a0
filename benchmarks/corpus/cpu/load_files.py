"""`load` with two C++ files and a header."""

import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load

TOPICS = (
    "cpu",
    "load",
    "load_header",
)
EXPECT = "split"

folder = os.path.join(tempfile.mkdtemp(), "load_files")
os.makedirs(folder)
FILES = {
    "ops.h": r"""
#pragma once
#include <torch/extension.h>
torch::Tensor relu(torch::Tensor x);
""",
    "ops.cpp": r"""
#include "ops.h"
torch::Tensor relu(torch::Tensor x) { return x.clamp_min(0) * 3; }
""",
    "binding.cpp": r"""
#include "ops.h"
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("relu", &relu, "ReLU", py::arg("x"));
}
""",
}
for file_name, text in FILES.items():
    with open(os.path.join(folder, file_name), "w") as file:
        file.write(text)

ext = load(
    name="load_files",
    sources=[os.path.join(folder, name) for name in ["ops.cpp", "binding.cpp"]],
    extra_cuda_cflags=["-O3"],
    verbose=False,
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.relu(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
