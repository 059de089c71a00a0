"""Masked softmax in CUDA: a block a row; the masked scores wait in the output between passes."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

DECLARATION = "torch::Tensor masked_softmax_forward(torch::Tensor scores, torch::Tensor mask);"

SOURCE = r"""
#include <torch/extension.h>

constexpr int THREADS = 256;

template <bool maximum>
__device__ float combine(float a, float b) {
    return maximum ? fmaxf(a, b) : a + b;
}

// The maximum or the sum over the block, in every thread.
template <bool maximum>
__device__ float over_block(float v) {
    __shared__ float warps[THREADS / 32];
    for (int d = 16; d > 0; d /= 2)
        v = combine<maximum>(v, __shfl_xor_sync(0xffffffff, v, d));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = warps[0];
    for (int w = 1; w < THREADS / 32; ++w) v = combine<maximum>(v, warps[w]);
    return v;
}

// Each thread reads back only what it wrote to y itself.
__global__ void masked_softmax_kernel(const float* scores, const bool* mask, float* y,
                                      int64_t width) {
    const int64_t start = blockIdx.x * width;
    float highest = -INFINITY;
    for (int64_t i = threadIdx.x; i < width; i += THREADS) {
        const float v = mask[start + i] ? scores[start + i] * 0.125f : -1e9f;
        y[start + i] = v;
        highest = fmaxf(highest, v);
    }
    highest = over_block<true>(highest);
    float sum = 0.f;
    for (int64_t i = threadIdx.x; i < width; i += THREADS) {
        const float e = expf(y[start + i] - highest);
        y[start + i] = e;
        sum += e;
    }
    const float factor = 1.f / over_block<false>(sum);
    for (int64_t i = threadIdx.x; i < width; i += THREADS) y[start + i] *= factor;
}

torch::Tensor masked_softmax_forward(torch::Tensor scores, torch::Tensor mask) {
    TORCH_CHECK(scores.is_cuda() && mask.is_cuda(), "expected CUDA tensors");
    TORCH_CHECK(scores.scalar_type() == torch::kFloat && scores.dim() == 2, "expected float32");
    TORCH_CHECK(mask.scalar_type() == torch::kBool && mask.sizes() == scores.sizes(),
                "expected a boolean mask of the same shape");
    scores = scores.contiguous();
    mask = mask.contiguous();
    auto y = torch::empty_like(scores);
    if (scores.numel() == 0) return y;
    masked_softmax_kernel<<<scores.size(0), THREADS>>>(scores.data_ptr<float>(),
                                                       mask.data_ptr<bool>(), y.data_ptr<float>(),
                                                       scores.size(1));
    return y;
}
"""

extension = load_inline(
    name="masked_softmax_cuda",
    cpp_sources=DECLARATION,
    cuda_sources=SOURCE,
    functions=["masked_softmax_forward"],
)


class ModelNew(nn.Module):
    def forward(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return extension.masked_softmax_forward(scores, mask)
