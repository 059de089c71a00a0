#include <torch/extension.h>
#include <vector>

template <typename scalar_t>
__global__ void transpose_kernel(
    const torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> x,
    torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < x.size(0) && j < x.size(1)) y[j][i] = x[i][j];
}

__global__ void sum_kernel(torch::PackedTensorAccessor64<float, 3> x, float* out) {
    float s = 0;
    for (int64_t k = 0; k < x.size(2); ++k) s += x[blockIdx.x][threadIdx.x][k];
    out[blockIdx.x * x.size(1) + threadIdx.x] = s;
}

std::vector<torch::Tensor> run(torch::Tensor x, torch::Tensor z) {
    auto y = torch::zeros({x.size(1), x.size(0)}, x.options());
    dim3 block(16, 16), grid((x.size(0) + 15) / 16, (x.size(1) + 15) / 16);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "transpose", ([&] {
        transpose_kernel<scalar_t><<<grid, block>>>(
            x.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
            y.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>());
    }));
    auto out = torch::empty({z.size(0), z.size(1)}, z.options().dtype(torch::kFloat));
    sum_kernel<<<z.size(0), z.size(1)>>>(z.packed_accessor64<float, 3>(), out.data_ptr<float>());
    return {y, out};
}
