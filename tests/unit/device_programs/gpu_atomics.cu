#include <ATen/ATen.h>
#include <ATen/cuda/Atomic.cuh>
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

template <typename scalar_t>
__global__ void scatter(const scalar_t* x, const int64_t* index, scalar_t* out, int64_t n) {
    int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) gpuAtomicAdd(out + index[i], x[i]);
}

at::Tensor scatter_add(at::Tensor x, at::Tensor index, int64_t size) {
    auto out = at::zeros({size}, x.options());
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "scatter", [&] {
        scatter<scalar_t><<<(x.numel() + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
            x.const_data_ptr<scalar_t>(), index.const_data_ptr<int64_t>(),
            out.mutable_data_ptr<scalar_t>(), x.numel());
    });
    return out;
}
