#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

template <typename scalar_t>
__global__ void relu_kernel(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, size_t n) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = x[i] > scalar_t(0) ? x[i] : scalar_t(0);
}

at::Tensor relu(const at::Tensor& x) {
    const at::cuda::OptionalCUDAGuard guard(device_of(x));
    auto y = at::empty(x.sizes(), x.options());
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    int blocks = at::cuda::getCurrentDeviceProperties()->multiProcessorCount * 4;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "relu", ([&] {
        relu_kernel<scalar_t><<<blocks, 256, 0, stream>>>(
            x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel());
    }));
    AT_CUDA_CHECK(cudaGetLastError());
    return y;
}
