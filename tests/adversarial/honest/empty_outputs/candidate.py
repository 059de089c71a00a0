from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
torch::Tensor row_sums(torch::Tensor x) {
    x = x.contiguous();
    auto scratch = torch::empty_like(x);
    auto y = torch::empty({x.size(0)}, x.options());
    const int64_t rows = x.size(0), width = x.size(1);
    const float* in = x.data_ptr<float>();
    float* half = scratch.data_ptr<float>();
    for (int64_t row = 0; row < rows; ++row, in += width) {
        for (int64_t i = 0; i < width; ++i) half[i] = in[i] / 2.f;
        float sums[8] = {};
        for (int64_t i = 0; i + 8 <= width; i += 8)
            for (int64_t lane = 0; lane < 8; ++lane) sums[lane] += half[i + lane];
        float sum = 0.f;
        for (float lane : sums) sum += lane;
        for (int64_t i = width / 8 * 8; i < width; ++i) sum += half[i];
        y.data_ptr<float>()[row] = 2.f * sum;
    }
    return y;
}
"""

native = load_inline(name="empty", cpp_sources=SOURCE, functions=["row_sums"])


class ModelNew(nn.Module):
    def forward(self, x):
        return native.row_sums(x)
