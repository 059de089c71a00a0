"""`AT_DISPATCH_SWITCH` with cases, and a switch written by hand."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("AT_DISPATCH_SWITCH",)
EXPECT = "split"

source = r"""
#include <torch/extension.h>

template <typename scalar_t, int kFactor>
__global__ void times_kernel(const scalar_t* x, scalar_t* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * static_cast<scalar_t>(kFactor);
}

torch::Tensor times(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    AT_DISPATCH_SWITCH(x.scalar_type(), "times",
        AT_DISPATCH_CASE(at::ScalarType::Float, [&] {
            times_kernel<scalar_t, 2><<<(n + 255) / 256, 256>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n);
        })
        AT_DISPATCH_CASE_INTEGRAL_TYPES([&] {
            times_kernel<scalar_t, 3><<<(n + 255) / 256, 256>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n);
        }));
    return y;
}

torch::Tensor times_by_hand(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    switch (x.scalar_type()) {
        case torch::kFloat32:
            times_kernel<float, 5><<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
            break;
        case torch::kInt64:
            times_kernel<int64_t, 7><<<(n + 255) / 256, 256>>>(x.data_ptr<int64_t>(), y.data_ptr<int64_t>(), n);
            break;
        default:
            TORCH_CHECK(false, "unsupported type ", x.scalar_type());
    }
    return y;
}
"""

declarations = r"""torch::Tensor times(torch::Tensor x);
torch::Tensor times_by_hand(torch::Tensor x);"""

ext = load_inline(
    name="dispatch_switch",
    cpp_sources=declarations,
    cuda_sources=source,
    functions=["times", "times_by_hand"],
)


class ModelNew(nn.Module):
    def forward(self, x, n):
        return ext.times(x), ext.times(n), ext.times_by_hand(x), ext.times_by_hand(n)


def get_inputs():
    return [torch.randn(1000), torch.arange(999)]


def get_init_inputs():
    return []
