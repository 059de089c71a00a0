from torch import nn
from torch.utils.cpp_extension import load_inline

DECLARATION = "torch::Tensor row_sums(torch::Tensor x);"

SOURCE = r"""
// A warp a row; partial sums go through memory that nobody has initialised.
__global__ void partial_sums(const float* x, float* partial, int64_t width) {
    float sum = 0.f;
    for (int64_t i = threadIdx.x; i < width; i += 32) sum += x[blockIdx.x * width + i];
    partial[blockIdx.x * 32 + threadIdx.x] = sum;
}

__global__ void whole_sums(const float* partial, float* y, int64_t rows) {
    extern __shared__ float tile[];
    const int64_t row = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
    if (row >= rows) return;
    tile[threadIdx.x] = partial[row * 32];
    for (int lane = 1; lane < 32; ++lane) tile[threadIdx.x] += partial[row * 32 + lane];
    y[row] = tile[threadIdx.x];
}

torch::Tensor row_sums(torch::Tensor x) {
    x = x.contiguous();
    const int64_t rows = x.size(0), width = x.size(1);
    auto partial = torch::empty({rows, 32}, x.options());
    auto y = torch::empty({rows}, x.options());
    partial_sums<<<rows, 32>>>(x.data_ptr<float>(), partial.data_ptr<float>(), width);
    whole_sums<<<(rows + 63) / 64, 64, 64 * sizeof(float)>>>(
        partial.data_ptr<float>(), y.data_ptr<float>(), rows);
    return y;
}
"""

native = load_inline(
    name="empty", cpp_sources=DECLARATION, cuda_sources=SOURCE, functions=["row_sums"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return native.row_sums(x)
