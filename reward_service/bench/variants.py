"""Candidates that nobody has built before: a constant of each one's own in programs like those
that models write.

Such a program is all that a build sees of a submission, so this is what builds are measured with.
Where the signature is to be unseen as well, the function has a name and parameters of its own.
"""

from __future__ import annotations

import random
from string import Template
from typing import Literal

Device = Literal["cpu", "cuda"]
Signatures = Literal["seen", "unseen"]

_TYPES = ("torch::Tensor", "double", "int64_t", "bool", "std::vector<int64_t>")
_MOST_EXTRA = 4

_CUDA_POINTWISE = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void pointwise_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * ${constant}f + tanhf(x[i]);
}

torch::Tensor $name(torch::Tensor x$extra) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    pointwise_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
_CUDA_ROWS = """
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>

__global__ void rows_kernel(const float* x, float* y, int width) {
    extern __shared__ float partial[];
    float sum = 0.f;
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        sum += x[blockIdx.x * width + i] * ${constant}f;
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = 0.f;
        for (int w = 0; w < blockDim.x / 32; ++w) total += partial[w];
        y[blockIdx.x] = total;
    }
}

torch::Tensor $name(torch::Tensor x$extra) {
    TORCH_CHECK(x.is_cuda() && x.dim() == 2, "expected a matrix on a GPU");
    auto y = torch::zeros({x.size(0)}, x.options());
    auto stream = c10::cuda::getCurrentCUDAStream();
    rows_kernel<<<x.size(0), 256, 8 * sizeof(float), stream>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""
_CUDA_DISPATCH = """
#include <torch/extension.h>

template <typename T>
__global__ void dispatch_kernel(const T* x, T* y, int64_t n) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] > T(0) ? x[i] : x[i] * T(${constant});
}

torch::Tensor $name(torch::Tensor x$extra) {
    x = x.contiguous();
    auto y = torch::empty(x.sizes(), x.options());
    const int64_t n = x.numel();
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "dispatch", ([&] {
        dispatch_kernel<scalar_t><<<(n + 255) / 256, 256>>>(
            x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n);
    }));
    return y;
}
"""
_CPU_POINTWISE = """
#include <torch/extension.h>

torch::Tensor $name(torch::Tensor x$extra) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const float* from = x.data_ptr<float>();
    float* to = y.data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); ++i) to[i] = from[i] * ${constant}f + std::tanh(from[i]);
    return y;
}
"""
_CPU_ROWS = """
#include <torch/extension.h>

torch::Tensor $name(torch::Tensor x$extra) {
    TORCH_CHECK(x.dim() == 2, "expected a matrix");
    x = x.contiguous();
    auto y = torch::zeros({x.size(0)}, x.options());
    const float* from = x.data_ptr<float>();
    float* to = y.data_ptr<float>();
    const int64_t width = x.size(1);
    at::parallel_for(0, x.size(0), 16, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row)
            for (int64_t i = 0; i < width; ++i) to[row] += from[row * width + i] * ${constant}f;
    });
    return y;
}
"""
_CPU_DISPATCH = """
#include <torch/extension.h>

torch::Tensor $name(torch::Tensor x$extra) {
    auto y = torch::empty_like(x);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "dispatch", [&] {
        auto from = x.flatten();
        auto to = y.flatten();
        auto a = from.accessor<scalar_t, 1>();
        auto b = to.accessor<scalar_t, 1>();
        for (int64_t i = 0; i < a.size(0); ++i) b[i] = a[i] > 0 ? a[i] : a[i] * ${constant};
    });
    return y;
}
"""
_PROGRAMS: dict[Device, tuple[str, ...]] = {
    "cpu": (_CPU_POINTWISE, _CPU_ROWS, _CPU_DISPATCH),
    "cuda": (_CUDA_POINTWISE, _CUDA_ROWS, _CUDA_DISPATCH),
}
KINDS = 3
"""Number of different programs for each device."""


def variants(device: Device, count: int, signatures: Signatures) -> list[str]:
    """Sources of `count` candidates; each calls `load_inline` once at its module level."""
    return [_candidate(device, number, signatures) for number in range(count)]


def _candidate(device: Device, number: int, signatures: Signatures) -> str:
    chance = random.SystemRandom()
    name, extra = "forward_", ""
    if signatures == "unseen":
        name += f"{chance.getrandbits(64):x}"
        types = chance.choices(_TYPES, k=chance.randint(1, _MOST_EXTRA))
        extra = "".join(f", {type_} p{place}" for place, type_ in enumerate(types))
    constant = f"1.{chance.randrange(10**9):09d}"
    program = Template(_PROGRAMS[device][number % KINDS])
    text = program.substitute(name=name, extra=extra, constant=constant)
    if device == "cpu":
        sources = {"cpp_sources": text}
    else:
        declared = f"torch::Tensor {name}(torch::Tensor x{extra});"
        sources = {"cpp_sources": declared, "cuda_sources": text}
    given = {"name": "variant", **sources, "functions": [name]}
    arguments = ", ".join(f"{key}={value!r}" for key, value in given.items())
    return (
        "import torch\n"
        "from torch.utils.cpp_extension import load_inline\n\n"
        f"extension = load_inline({arguments})\n\n\n"
        "class ModelNew(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        f"        return extension.{name}(x)\n"
    )
