#include <torch/extension.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

__global__ void product(const half* a, const half* b, float* c, int n, int k) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    int row = blockIdx.y * 16, col = blockIdx.x * 16;
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(fa, a + row * k + i, k);
        wmma::load_matrix_sync(fb, b + i * n + col, n);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(c + row * n + col, fc, n, wmma::mem_row_major);
}

torch::Tensor matmul(torch::Tensor a, torch::Tensor b) {
    auto c = torch::zeros({a.size(0), b.size(1)}, a.options().dtype(torch::kFloat32));
    dim3 grid(b.size(1) / 16, a.size(0) / 16);
    product<<<grid, 32>>>(reinterpret_cast<const half*>(a.data_ptr<at::Half>()),
                          reinterpret_cast<const half*>(b.data_ptr<at::Half>()),
                          c.data_ptr<float>(), b.size(1), a.size(1));
    return c;
}
