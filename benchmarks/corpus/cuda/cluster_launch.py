"""Tensor sizes through `cudaLaunchKernelEx` with a cluster of two blocks."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("cudaLaunchKernelEx",)
EXPECT = "split"

CUDA_SRC = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

__global__ void clustered(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + 2.f;
}

torch::Tensor clustered_forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(2 * ((n + 511) / 512));
    config.blockDim = dim3(256);
    config.stream = at::cuda::getCurrentCUDAStream();
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 2;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    TORCH_CHECK(cudaLaunchKernelEx(&config, clustered, in, out, n) == cudaSuccess);
    return y;
}
"""

CPP_SRC = "torch::Tensor clustered_forward(torch::Tensor x);"

ext = load_inline(
    name="cluster_launch",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["clustered_forward"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.clustered_forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
