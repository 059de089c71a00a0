"""A source that includes nothing and lives off torch's implicit headers."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("includes_nothing",)
EXPECT = "split"

cuda_source = r"""

__global__ void plain_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * 5.f;
}

torch::Tensor plain_forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    plain_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

cpp_source = "torch::Tensor plain_forward(torch::Tensor x);"

ext = load_inline(
    name="includes_nothing",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["plain_forward"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.plain_forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
