"""Outputs made from explicit `TensorOptions`, `full`, `ones` and `zeros`."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "TensorOptions",
    "torch_zeros",
    "torch_empty",
)
EXPECT = "split"

CUDA_SRC = r"""
#include <torch/extension.h>

__global__ void scale_rows(const float* x, const float* scale, float* y, int* count, int cols) {
    int row = blockIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= cols) return;
    float v = x[row * cols + col] * scale[row];
    y[row * cols + col] = v;
    if (v > 0.f) atomicAdd(&count[row], 1);
}

std::vector<torch::Tensor> scale_and_count(torch::Tensor x) {
    auto options = torch::TensorOptions().dtype(torch::kInt32).device(x.device()).requires_grad(false);
    auto floats = torch::TensorOptions().dtype(torch::kFloat).device(torch::kCUDA, x.get_device());
    torch::Tensor count = torch::zeros({x.size(0)}, options);
    torch::Tensor y = torch::empty(x.sizes(), floats.layout(torch::kStrided));
    torch::Tensor scale = torch::full({x.size(0)}, 0.5, floats);
    scale.fill_(1.25);
    torch::Tensor more = torch::ones({x.size(0)}, torch::dtype(torch::kFloat32).device(torch::kCUDA));
    scale.add_(more);
    const int cols = static_cast<int>(x.size(1));
    dim3 grid((cols + 127) / 128, x.size(0));
    scale_rows<<<grid, dim3(128)>>>(x.data_ptr<float>(), scale.data_ptr<float>(), y.data_ptr<float>(), count.data_ptr<int>(), cols);
    return {y, count};
}
"""

CPP_SRC = "std::vector<torch::Tensor> scale_and_count(torch::Tensor x);"

ext = load_inline(
    name="tensor_options", cpp_sources=CPP_SRC, cuda_sources=CUDA_SRC, functions=["scale_and_count"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        y, count = ext.scale_and_count(x)
        return y, count


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
