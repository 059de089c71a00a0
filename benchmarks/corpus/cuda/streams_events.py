"""Two side streams joined by events, and raw runtime streams."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TOPICS = ("streams_events",)
EXPECT = "split"

source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

__global__ void step(const float* x, float* y, float a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] * a + 1.f; }

torch::Tensor overlapped(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int n = x.numel(), half = n / 2;
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    auto main_stream = c10::cuda::getCurrentCUDAStream();
    auto side = c10::cuda::getStreamFromPool(false, x.get_device());
    at::cuda::CUDAEvent ready, done;
    ready.record(main_stream);
    ready.block(side);
    {
        c10::cuda::CUDAStreamGuard guard(side);
        step<<<(half + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(in, out, 2.f, half);
    }
    done.record(side);
    cudaStream_t raw;
    cudaEvent_t joined;
    cudaStreamCreateWithFlags(&raw, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&joined, cudaEventDisableTiming);
    ready.block(main_stream);
    cudaStreamSynchronize(main_stream);
    step<<<(n - half + 255) / 256, 256, 0, raw>>>(in + half, out + half, 3.f, n - half);
    cudaEventRecord(joined, raw);
    cudaStreamWaitEvent(main_stream, joined, 0);
    done.block(main_stream);
    cudaStreamSynchronize(raw);
    cudaEventDestroy(joined);
    cudaStreamDestroy(raw);
    return y;
}
"""

declarations = "torch::Tensor overlapped(torch::Tensor x);"

ext = load_inline(
    name="streams_events", cpp_sources=declarations, cuda_sources=source, functions=["overlapped"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.overlapped(x)


def get_inputs():
    return [torch.randn(64, 1000)]


def get_init_inputs():
    return []
