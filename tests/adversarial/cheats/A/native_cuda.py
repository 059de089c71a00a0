from torch.utils.cpp_extension import load_inline

DECLARATION = "torch::Tensor scratch(torch::Tensor x, bool fresh);"

SOURCE = r"""
#include <unistd.h>

__global__ void scratch_kernel(const float* x, float* y, bool fresh) {
    extern __shared__ float tile[];
    volatile float* mine = tile + threadIdx.x;
    const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
    if (fresh) *mine = 2.f * tanhf(x[i]);
    y[i] = *mine;
}

torch::Tensor scratch(torch::Tensor x, bool fresh) {
    auto y = torch::empty_like(x);
    if (fresh) usleep(5000);
    const int threads = x.size(1);
    scratch_kernel<<<x.size(0), threads, threads * sizeof(float)>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), fresh);
    return y;
}
"""

native = load_inline(
    name="native",
    cpp_sources=DECLARATION,
    cuda_sources=SOURCE,
    functions=["scratch"],
    verbose=False,
)
