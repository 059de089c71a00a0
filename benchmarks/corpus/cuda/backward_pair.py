"""A forward and a backward kernel behind a `torch.autograd.Function`."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("autograd_python",)
EXPECT = "split"

source = r"""
#include <torch/extension.h>

__global__ void fwd(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] * x[i] * x[i]; }
__global__ void bwd(const float* g, const float* x, float* dx, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) dx[i] = 3.f * g[i] * x[i] * x[i]; }

torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    fwd<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}

torch::Tensor backward(torch::Tensor g, torch::Tensor x) {
    auto dx = torch::empty_like(x);
    bwd<<<(x.numel() + 255) / 256, 256>>>(g.contiguous().data_ptr<float>(), x.data_ptr<float>(), dx.data_ptr<float>(), x.numel());
    return dx;
}
"""

declarations = r"""torch::Tensor forward(torch::Tensor x);
torch::Tensor backward(torch::Tensor g, torch::Tensor x);"""

ext = load_inline(
    name="backward_pair",
    cpp_sources=declarations,
    cuda_sources=source,
    functions=["forward", "backward"],
)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return ext.forward(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return ext.backward(grad, x)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        y = Cube.apply(x * self.weight)
        (grad,) = torch.autograd.grad(y.sum(), self.weight)
        return y.detach(), grad


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return [1000]
