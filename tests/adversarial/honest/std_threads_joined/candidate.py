from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <thread>
#include <vector>

static void sum_rows(const float* x, float* y, int64_t first, int64_t last, int64_t width) {
    for (int64_t row = first; row < last; ++row) {
        float sums[8] = {};
        const float* in = x + row * width;
        for (int64_t i = 0; i + 8 <= width; i += 8)
            for (int64_t lane = 0; lane < 8; ++lane) sums[lane] += in[i + lane];
        float sum = 0.f;
        for (float lane : sums) sum += lane;
        for (int64_t i = width / 8 * 8; i < width; ++i) sum += in[i];
        y[row] = sum;
    }
}

torch::Tensor row_sums(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty({x.size(0)}, x.options());
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    const int64_t rows = x.size(0), width = x.size(1), half = rows / 2;
    std::vector<std::thread> threads;
    threads.emplace_back(sum_rows, in, out, 0, half, width);
    threads.emplace_back(sum_rows, in, out, half, rows, width);
    for (auto& thread : threads) thread.join();
    return y;
}
"""

native = load_inline(name="threads", cpp_sources=SOURCE, functions=["row_sums"])


class ModelNew(nn.Module):
    def forward(self, x):
        return native.row_sums(x)
