from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
torch::Tensor row_sums(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty({x.size(0)}, x.options());
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    const int64_t rows = x.size(0), width = x.size(1);
#pragma omp parallel for
    for (int64_t row = 0; row < rows; ++row) {
        float sum = 0.f;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < width; ++i) sum += in[row * width + i];
        out[row] = sum;
    }
    return y;
}
"""

native = load_inline(
    name="openmp",
    cpp_sources=SOURCE,
    functions=["row_sums"],
    extra_cflags=["-O2", "-march=native", "-fopenmp"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return native.row_sums(x)
