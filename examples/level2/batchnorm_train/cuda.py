"""Training batch norm and ReLU in CUDA: a block a channel; running statistics moved in place."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

DECLARATION = """
torch::Tensor batchnorm_train_forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias,
                                      torch::Tensor running_mean, torch::Tensor running_var);
"""

SOURCE = r"""
#include <torch/extension.h>

constexpr int THREADS = 512;

// The sum over the block, in every thread.
__device__ float block_sum(float v) {
    __shared__ float warps[THREADS / 32];
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0.f;
    for (int w = 0; w < THREADS / 32; ++w) v += warps[w];
    __syncthreads();  // the next sum writes to the same place
    return v;
}

__global__ void batchnorm_train_kernel(const float* x, const float* weight, const float* bias,
                                       float* running_mean, float* running_var, float* y,
                                       int images, int channels, int plane) {
    const int c = blockIdx.x;
    const int count = images * plane;
    // Where the i-th value of this channel lies.
    auto place = [=](int i) { return ((int64_t)(i / plane) * channels + c) * plane + i % plane; };
    float sum = 0.f;
    for (int i = threadIdx.x; i < count; i += THREADS) sum += x[place(i)];
    const float mean = block_sum(sum) / count;
    float squares = 0.f;
    for (int i = threadIdx.x; i < count; i += THREADS) {
        const float d = x[place(i)] - mean;
        squares += d * d;
    }
    squares = block_sum(squares);
    const float scale = weight[c] / sqrtf(squares / count + 1e-5f);
    for (int i = threadIdx.x; i < count; i += THREADS) {
        const float v = (x[place(i)] - mean) * scale + bias[c];
        y[place(i)] = v < 0.f ? 0.f : v;
    }
    if (threadIdx.x == 0) {
        running_mean[c] = 0.9f * running_mean[c] + 0.1f * mean;
        running_var[c] = 0.9f * running_var[c] + 0.1f * (squares / (count - 1));
    }
}

torch::Tensor batchnorm_train_forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias,
                                      torch::Tensor running_mean, torch::Tensor running_var) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat, "expected float32 on CUDA");
    TORCH_CHECK(x.dim() == 4, "expected images");
    TORCH_CHECK(running_mean.is_contiguous() && running_var.is_contiguous(),
                "the running statistics are changed in place");
    x = x.contiguous();
    weight = weight.contiguous();
    bias = bias.contiguous();
    auto y = torch::empty_like(x);
    const int64_t images = x.size(0), channels = x.size(1), plane = x.size(2) * x.size(3);
    TORCH_CHECK(images * plane > 1, "expected more than one value a channel");
    TORCH_CHECK(images * plane < (1 << 30), "expected fewer values a channel");
    if (channels == 0) return y;
    batchnorm_train_kernel<<<channels, THREADS>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
        running_mean.data_ptr<float>(), running_var.data_ptr<float>(), y.data_ptr<float>(), images,
        channels, plane);
    return y;
}
"""

extension = load_inline(
    name="batchnorm_train_cuda",
    cpp_sources=DECLARATION,
    cuda_sources=SOURCE,
    functions=["batchnorm_train_forward"],
)


class ModelNew(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(channels) + 0.5)
        self.bias = nn.Parameter(torch.randn(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.batchnorm_train_forward(
            x, self.weight, self.bias, self.running_mean, self.running_var
        )
