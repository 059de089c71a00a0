import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
__global__ void write(float* x) { *x = 1.f; }
torch::Tensor fault(torch::Tensor x) {
    write<<<1, 1>>>(reinterpret_cast<float*>(8));
    return x;
}
"""
extension = load_inline(
    name="fault",
    cpp_sources="torch::Tensor fault(torch::Tensor x);",
    cuda_sources=SOURCE,
    functions=["fault"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.fault(x)
