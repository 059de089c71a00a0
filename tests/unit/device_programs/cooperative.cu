#include <torch/extension.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

__global__ void total(const float* x, float* out, int n) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    float s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += x[i];
    s = cg::reduce(tile, s, cg::plus<float>());
    if (tile.thread_rank() == 0) atomicAdd(out, s);
}

torch::Tensor sum(torch::Tensor x) {
    auto out = torch::zeros(1, x.options());
    const float* in = x.data_ptr<float>();
    float* o = out.data_ptr<float>();
    int n = x.numel();
    void* args[] = {&in, &o, &n};
    cudaLaunchCooperativeKernel((void*)total, dim3(32), dim3(128), args, 0, 0);
    return out;
}
