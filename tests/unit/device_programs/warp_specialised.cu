#include <torch/extension.h>
#include <cuda/barrier>
#include <cuda/pipeline>

__global__ void staged(const float* in, float* out, int n) {
    __shared__ alignas(16) float buffer[256];
    auto pipe = cuda::make_pipeline();
    pipe.producer_acquire();
    cuda::memcpy_async(buffer + threadIdx.x, in + threadIdx.x, sizeof(float), pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    __syncthreads();
    if (threadIdx.x < n) out[threadIdx.x] = buffer[255 - threadIdx.x];
    pipe.consumer_release();
}

void run(at::Tensor in, at::Tensor out) {
    staged<<<1, 256>>>(in.data_ptr<float>(), out.data_ptr<float>(), in.numel());
}
