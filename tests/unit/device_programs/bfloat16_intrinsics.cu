#include <torch/extension.h>
#include <cuda_bf16.h>

__global__ void gelu(const __nv_bfloat16* x, __nv_bfloat16* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = __bfloat162float(x[i]);
    y[i] = __float2bfloat16(0.5f * v * (1.f + erff(v * 0.70710678f)));
}

void gelu_out(torch::Tensor x, torch::Tensor y) {
    TORCH_CHECK(x.scalar_type() == at::kBFloat16);
    gelu<<<(x.numel() + 127) / 128, 128>>>(
        reinterpret_cast<const __nv_bfloat16*>(x.data_ptr<at::BFloat16>()),
        reinterpret_cast<__nv_bfloat16*>(y.data_ptr()), static_cast<int>(x.numel()));
}
