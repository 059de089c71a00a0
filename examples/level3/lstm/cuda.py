"""LSTM with a library product a step, and everything between the products in one CUDA kernel.

The input's products for all steps are one product, made before the first step.
"""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.cpp_extension import load_inline

DECLARATION = """
void lstm_step(torch::Tensor projected, torch::Tensor recurrent, torch::Tensor cell,
               torch::Tensor outputs, int64_t step);
"""

SOURCE = r"""
#include <torch/extension.h>

__device__ float sigmoid(float x) { return 1.f / (1.f + expf(-x)); }

// One thread a hidden unit of one sequence.
__global__ void lstm_step_kernel(const float* projected, const float* recurrent, float* cell,
                                 float* outputs, int64_t step, int64_t batch, int64_t steps,
                                 int64_t hidden) {
    const int64_t at = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (at >= batch * hidden) return;
    const int64_t b = at / hidden, k = at % hidden;
    const float* p = projected + (b * steps + step) * 4 * hidden + k;
    const float* r = recurrent + b * 4 * hidden + k;
    const float i = sigmoid(p[0] + r[0]);
    const float f = sigmoid(p[hidden] + r[hidden]);
    const float g = tanhf(p[2 * hidden] + r[2 * hidden]);
    const float o = sigmoid(p[3 * hidden] + r[3 * hidden]);
    const float c = f * cell[at] + i * g;
    cell[at] = c;
    outputs[(b * steps + step) * hidden + k] = o * tanhf(c);
}

// projected: batch x steps x 4 hidden, recurrent: batch x 4 hidden, cell: batch x hidden (in
// place), outputs: batch x steps x hidden, of which this step is written.
void lstm_step(torch::Tensor projected, torch::Tensor recurrent, torch::Tensor cell,
               torch::Tensor outputs, int64_t step) {
    TORCH_CHECK(projected.is_cuda() && projected.scalar_type() == torch::kFloat,
                "expected float32 on CUDA");
    TORCH_CHECK(projected.is_contiguous() && recurrent.is_contiguous() && cell.is_contiguous() &&
                    outputs.is_contiguous(),
                "expected contiguous tensors");
    const int64_t batch = outputs.size(0), steps = outputs.size(1), hidden = outputs.size(2);
    const int64_t n = batch * hidden;
    if (n == 0) return;
    lstm_step_kernel<<<(n + 127) / 128, 128>>>(
        projected.data_ptr<float>(), recurrent.data_ptr<float>(), cell.data_ptr<float>(),
        outputs.data_ptr<float>(), step, batch, steps, hidden);
}
"""

extension = load_inline(
    name="lstm_cuda",
    cpp_sources=DECLARATION,
    cuda_sources=SOURCE,
    functions=["lstm_step"],
)


class ModelNew(nn.Module):
    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.weight_x = nn.Parameter(torch.randn(4 * hidden, inputs) / inputs**0.5)
        self.weight_h = nn.Parameter(torch.randn(4 * hidden, hidden) / hidden**0.5)
        self.bias = nn.Parameter(torch.randn(4 * hidden))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, steps, _ = x.shape
        hidden = self.weight_h.shape[1]
        projected = F.linear(x, self.weight_x, self.bias)
        recurrent = x.new_zeros(batch, 4 * hidden)
        cell = x.new_zeros(batch, hidden)
        outputs = x.new_empty(batch, steps, hidden)
        for step in range(steps):
            if step > 0:
                recurrent = outputs[:, step - 1] @ self.weight_h.t()
            extension.lstm_step(projected, recurrent, cell, outputs, step)
        return outputs
