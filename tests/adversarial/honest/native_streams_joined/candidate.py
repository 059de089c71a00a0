from torch import nn
from torch.utils.cpp_extension import load_inline

DECLARATION = "torch::Tensor row_sums(torch::Tensor x);"

SOURCE = r"""
#include <ATen/cuda/CUDAContext.h>

__global__ void row_sums_kernel(const float* x, float* y, int64_t width) {
    float sum = 0.f;
    for (int64_t i = threadIdx.x; i < width; i += 32) sum += x[blockIdx.x * width + i];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

static void check(cudaError_t code) {
    TORCH_CHECK(code == cudaSuccess, cudaGetErrorString(code));
}

struct Side {
    cudaStream_t stream;
    cudaEvent_t begun, done;
    Side() {
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        check(cudaEventCreateWithFlags(&begun, cudaEventDisableTiming));
        check(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    }
};

torch::Tensor row_sums(torch::Tensor x) {
    static Side side;
    x = x.contiguous();
    auto y = torch::empty({x.size(0)}, x.options());
    const int64_t rows = x.size(0), width = x.size(1), half = rows / 2;
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    cudaStream_t current = at::cuda::getCurrentCUDAStream();
    check(cudaEventRecord(side.begun, current));
    check(cudaStreamWaitEvent(side.stream, side.begun, 0));
    row_sums_kernel<<<half, 32, 0, side.stream>>>(in, out, width);
    check(cudaEventRecord(side.done, side.stream));
    row_sums_kernel<<<rows - half, 32, 0, current>>>(in + half * width, out + half, width);
    check(cudaStreamWaitEvent(current, side.done, 0));
    return y;
}
"""

native = load_inline(
    name="streams", cpp_sources=DECLARATION, cuda_sources=SOURCE, functions=["row_sums"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return native.row_sums(x)
