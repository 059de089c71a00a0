"""Carriage returns, tabs, line continuations and comments in other scripts."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = (
    "crlf",
    "non_ascii",
)
EXPECT = "split"

cuda_source = r"""
#include <torch/extension.h>
// Größe der Blöcke – размер блока – 块大小 – ✓
#define SIZE \
	256

/* ядро: умножает на два */
__global__ void doubled(const float* x, float* y, int n) {
	int i = blockIdx.x * SIZE + threadIdx.x;  // индекс
	if (i < n) y[i] = x[i] * 2.f;  // 两倍
}

torch::Tensor doubled_forward(torch::Tensor x) {
	TORCH_CHECK(x.is_cuda(), "Tensor muß auf der GPU liegen – ¡ojo!");
	auto y = torch::empty_like(x);
	int n = x.numel();
	doubled<<<(n + SIZE - 1) / SIZE, \
	          SIZE>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
	return y;
}
"""

cpp_source = "torch::Tensor doubled_forward(torch::Tensor x);"

ext = load_inline(
    name="crlf_non_ascii",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source.replace("\n", "\r\n"),
    functions=["doubled_forward"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.doubled_forward(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
