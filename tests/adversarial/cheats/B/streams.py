from torch.utils.cpp_extension import load_inline

DECLARATION = "torch::Tensor work(torch::Tensor x, bool aside);"

SOURCE = r"""
#include <ATen/cuda/CUDAContext.h>

constexpr int THREADS = 128;
constexpr unsigned long long NANOSECONDS = 20000000;

__device__ unsigned long long now() {
    unsigned long long ns;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
    return ns;
}

__global__ void work_kernel(const float* x, float* y, int64_t n) {
    const unsigned long long begun = now();
    while (now() - begun < NANOSECONDS) {}
    const int64_t i = blockIdx.x * int64_t{THREADS} + threadIdx.x;
    if (i < n) y[i] = 2.f * tanhf(x[i]);
}

static cudaStream_t side() {
    static cudaStream_t stream = [] {
        cudaStream_t made;
        TORCH_CHECK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking) == cudaSuccess);
        return made;
    }();
    return stream;
}

torch::Tensor work(torch::Tensor x, bool aside) {
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    const cudaStream_t current = at::cuda::getCurrentCUDAStream();
    const cudaStream_t stream = aside ? side() : current;
    work_kernel<<<(n + THREADS - 1) / THREADS, THREADS, 0, stream>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

native = load_inline(
    name="streams",
    cpp_sources=DECLARATION,
    cuda_sources=SOURCE,
    functions=["work"],
    verbose=False,
)
