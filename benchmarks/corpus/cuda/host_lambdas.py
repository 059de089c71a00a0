"""Lambdas and standard containers in host code around the launches."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "host_lambdas",
    "std_containers",
)
EXPECT = "split"

source = r"""
#include <torch/extension.h>
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>

__global__ void power_kernel(const float* x, float* y, float p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = powf(fabsf(x[i]), p);
}

torch::Tensor powers(torch::Tensor x, std::string which) {
    static const std::map<std::string, float> table{{"sqrt", 0.5f}, {"square", 2.f}};
    std::unordered_map<int, int> seen;
    auto y = torch::empty_like(x);
    const int n = x.numel();
    auto launch = [&](float p, int threads = 256) {
        power_kernel<<<(n + threads - 1) / threads, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), p, n);
        return ++seen[threads];
    };
    std::function<void()> run = [&] { launch(table.at(which)); };
    run();
    int total = std::max({launch(table.at(which), 128), 1});
    [&]() { power_kernel<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), total > 0 ? 3.f : 1.f, std::min(n, 32)); }();
    return y;
}
"""

declarations = r"""#include <string>
torch::Tensor powers(torch::Tensor x, std::string which);"""

ext = load_inline(
    name="host_lambdas", cpp_sources=declarations, cuda_sources=source, functions=["powers"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.powers(x, "sqrt"), ext.powers(x, "square")


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
