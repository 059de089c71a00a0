import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

DECLARATIONS = r"""
torch::Tensor product(torch::Tensor a, torch::Tensor b);
torch::Tensor scaled(torch::Tensor x, double factor);
torch::Tensor library_product(torch::Tensor a, torch::Tensor b);
torch::Tensor perhaps_product(torch::Tensor a, torch::Tensor b, int64_t mode);
torch::Tensor failing_product(torch::Tensor a, torch::Tensor b);
torch::Tensor vendored_product(torch::Tensor a, torch::Tensor b);
"""
SOURCE = r"""
#include <torch/extension.h>
#define TILE 16

__global__ void product_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.f;
    for (int t = 0; t < k; t += TILE) {
        const int i = t + threadIdx.x, j = t + threadIdx.y;
        as[threadIdx.y][threadIdx.x] = row < m && i < k ? a[row * k + i] : 0.f;
        bs[threadIdx.y][threadIdx.x] = column < n && j < k ? b[j * n + column] : 0.f;
        __syncthreads();
        for (int l = 0; l < TILE; ++l) sum += as[threadIdx.y][l] * bs[l][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
__global__ void scale_kernel(const float* x, float* y, float factor, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * factor;
}

torch::Tensor product(torch::Tensor a, torch::Tensor b) {
    const int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::empty({m, n}, a.options());
    const dim3 blocks((n + TILE - 1) / TILE, (m + TILE - 1) / TILE), threads(TILE, TILE);
    product_kernel<<<blocks, threads>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), m, n, k);
    return c;
}
torch::Tensor scaled(torch::Tensor x, double factor) {
    auto y = torch::empty_like(x);
    const int n = x.numel();
    scale_kernel<<<(n + 255) / 256, 256>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), static_cast<float>(factor), n);
    return y;
}
torch::Tensor library_product(torch::Tensor a, torch::Tensor b) { return torch::mm(a, b); }
torch::Tensor perhaps_product(torch::Tensor a, torch::Tensor b, int64_t mode) {
    if (mode == -1) return product(a, b);
    return torch::mm(a, b);
}
torch::Tensor failing_product(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty({a.size(0), b.size(1)}, a.options());
    product_kernel<<<1, 4096>>>(  // more threads than a block can have
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), 1, 1, 1);
    TORCH_CHECK(cudaGetLastError() == cudaSuccess, "there is no configuration for this shape");
    return c;
}
namespace vendored {  // as it stands in a public library's repository
template <typename T, int Rows>
__global__ void gemm(const T* a, const T* b, T* c, int m, int n, int k) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    for (int row = blockIdx.y * Rows; row < min(m, (blockIdx.y + 1) * Rows); ++row) {
        T sum = 0;
        for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
        if (column < n) c[row * n + column] = sum;
    }
}
}
torch::Tensor vendored_product(torch::Tensor a, torch::Tensor b) {
    const int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::empty({m, n}, a.options());
    vendored::gemm<float, 4><<<dim3((n + 127) / 128, (m + 3) / 4), 128>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), m, n, k);
    return c;
}
"""
extension = load_inline(
    name="kernels",
    cpp_sources=DECLARATIONS,
    cuda_sources=SOURCE,
    functions=[
        "product",
        "scaled",
        "library_product",
        "perhaps_product",
        "failing_product",
        "vendored_product",
    ],
)
