#include <torch/extension.h>

__device__ unsigned lane() {
    unsigned r;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(r));
    return r;
}

__global__ void lanes(int* out) {
    out[threadIdx.x] = lane();
    asm volatile("bar.sync 0;");
}

at::Tensor run(int64_t n) {
    auto out = at::empty({n}, at::TensorOptions().dtype(at::kInt).device(at::kCUDA));
    lanes<<<1, n>>>(out.data_ptr<int>());
    return out;
}
