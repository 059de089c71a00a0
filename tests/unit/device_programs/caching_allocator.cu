#include <ATen/ATen.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

__global__ void touch(char* p, size_t n) {
    for (size_t i = threadIdx.x; i < n; i += blockDim.x) p[i] = 1;
}

void run(int64_t bytes) {
    auto data = c10::cuda::CUDACachingAllocator::get()->allocate(bytes);
    auto stream = c10::cuda::getCurrentCUDAStream();
    touch<<<1, 32, 0, stream>>>(static_cast<char*>(data.get()), bytes);
    void* raw = c10::cuda::CUDACachingAllocator::raw_alloc(bytes);
    touch<<<1, 32, 0, stream.stream()>>>(static_cast<char*>(raw), bytes);
    c10::cuda::CUDACachingAllocator::raw_delete(raw);
}
