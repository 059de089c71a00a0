"""A product by cuBLAS on torch's handle, then a kernel of its own."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("cublas",)
EXPECT = "split"

CUDA_SRC = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cublas_v2.h>

__global__ void bias_relu(float* y, const float* b, int n, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(y[i] + b[i % cols], 0.f);
}

torch::Tensor linear(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    const int m = x.size(0), k = x.size(1), n = w.size(1);
    auto y = torch::empty({m, n}, x.options());
    cublasHandle_t handle = at::cuda::getCurrentCUDABlasHandle();
    const float one = 1.f, zero = 0.f;
    auto status = cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, w.data_ptr<float>(), n,
                              x.data_ptr<float>(), k, &zero, y.data_ptr<float>(), n);
    TORCH_CHECK(status == CUBLAS_STATUS_SUCCESS, "cublasSgemm failed");
    bias_relu<<<(m * n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(y.data_ptr<float>(), b.data_ptr<float>(), m * n, n);
    return y;
}
"""

CPP_SRC = "torch::Tensor linear(torch::Tensor x, torch::Tensor w, torch::Tensor b);"

ext = load_inline(
    name="cublas",
    cpp_sources=CPP_SRC,
    cuda_sources=CUDA_SRC,
    functions=["linear"],
    extra_ldflags=["-lcublas"],
)


class ModelNew(nn.Module):
    def forward(self, x, w, b):
        return ext.linear(x, w, b)


def get_inputs():
    return [torch.randn(32, 64), torch.randn(64, 48), torch.randn(48)]


def get_init_inputs():
    return []
