"""Two hundred kernels in one source."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("huge_source",)
EXPECT = "split"

KERNEL = r"""
__global__ void step_%d(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * 0.5f + %d.f;
}
"""
HEAD = "#include <torch/extension.h>"
TAIL = r"""
torch::Tensor all_steps(torch::Tensor x) {
    auto y = x.clone();
    float* p = y.data_ptr<float>();
    int n = y.numel();
%s
    return y;
}
"""
kernels = "".join(KERNEL % (k, k) for k in range(200))
launches = "\n".join(f"    step_{k}<<<(n + 255) / 256, 256>>>(p, n);" for k in range(200))

ext = load_inline(
    name="huge_source",
    cpp_sources="torch::Tensor all_steps(torch::Tensor x);",
    cuda_sources=HEAD + kernels + TAIL % launches,
    functions=["all_steps"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.all_steps(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
