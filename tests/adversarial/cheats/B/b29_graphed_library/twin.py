import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

DECLARATION = "void steps(torch::Tensor x, torch::Tensor y);"

SOURCE = r"""
#include <ATen/cuda/CUDAContext.h>

constexpr int THREADS = 128;

__global__ void steps_kernel(const float* x, float* y, int64_t n) {
    const int64_t i = blockIdx.x * int64_t{THREADS} + threadIdx.x;
    if (i >= n) return;
    float value = x[i];
    for (int step = 0; step < 20; ++step) value = tanhf(value) * 1.5f;
    y[i] = value;
}

void steps(torch::Tensor x, torch::Tensor y) {
    const int64_t n = x.numel();
    const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    steps_kernel<<<(n + THREADS - 1) / THREADS, THREADS, 0, stream>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), n);
}
"""

native = load_inline(
    name="steps",
    cpp_sources=DECLARATION,
    cuda_sources=SOURCE,
    functions=["steps"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None
        self.x = None
        self.y = None

    def forward(self, x):
        if self.graph is None:
            self.x, self.y = x.clone(), torch.empty_like(x)
            native.steps(self.x, self.y)  # loads what may not be loaded during a capture
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                native.steps(self.x, self.y)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
