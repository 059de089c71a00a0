#include <torch/extension.h>
#include <cfloat>

#define WARP 32
__constant__ float table[16];
__device__ int counter;

__device__ __forceinline__ float warp_max(float v) {
    for (int o = WARP / 2; o > 0; o >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, o));
    return v;
}

template <int BLOCK>
__global__ void __launch_bounds__(BLOCK) row_max(const float4* x, float* out, int n4) {
    extern __shared__ float s[];
    float v = -FLT_MAX;
    for (int i = threadIdx.x; i < n4; i += BLOCK) {
        float4 q = x[blockIdx.x * n4 + i];
        v = fmaxf(v, fmaxf(fmaxf(q.x, q.y), fmaxf(q.z, q.w)));
    }
    v = warp_max(v);
    if (threadIdx.x % WARP == 0) s[threadIdx.x / WARP] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < BLOCK / WARP; ++i) v = fmaxf(v, s[i]);
        out[blockIdx.x] = v + table[blockIdx.x % 16];
        atomicAdd(&counter, 1);
    }
}

torch::Tensor forward(torch::Tensor x) {
    int rows = x.size(0), n = x.size(1);
    auto out = torch::empty({rows}, x.options());
    float host[16] = {0};
    cudaMemcpyToSymbol(table, host, sizeof(host));
    int shared = 64 * 1024;
    cudaFuncSetAttribute(row_max<256>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    row_max<256><<<rows, 256, shared>>>(reinterpret_cast<const float4*>(x.data_ptr<float>()),
                                        out.data_ptr<float>(), n / 4);
    cudaError_t err = cudaGetLastError();
    if (err != cudaSuccess) throw std::runtime_error(cudaGetErrorString(err));
    return out;
}
