from torch import nn
from torch.utils.cpp_extension import load_inline

DECLARATION = "torch::Tensor column_sums(torch::Tensor x);"

SOURCE = r"""
constexpr int THREADS = 256;
constexpr int64_t ROWS = 8;

__global__ void column_sums_kernel(const float* x, float* y, int64_t rows, int64_t width) {
    const int64_t column = blockIdx.x * int64_t{THREADS} + threadIdx.x;
    if (column >= width) return;
    const int64_t first = blockIdx.y * ROWS;
    const int64_t last = first + ROWS < rows ? first + ROWS : rows;
    float sum = 0.f;
    for (int64_t row = first; row < last; ++row) sum += x[row * width + column];
    atomicAdd(y + column, sum);
}

torch::Tensor column_sums(torch::Tensor x) {
    x = x.contiguous();
    const int64_t rows = x.size(0), width = x.size(1);
    auto y = torch::zeros({width}, x.options());
    const dim3 blocks((width + THREADS - 1) / THREADS, (rows + ROWS - 1) / ROWS);
    column_sums_kernel<<<blocks, THREADS>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
    return y;
}
"""

native = load_inline(
    name="atomics", cpp_sources=DECLARATION, cuda_sources=SOURCE, functions=["column_sums"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return native.column_sums(x)
