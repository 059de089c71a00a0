from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <atomic>
#include <thread>
#include <vector>

static void add(std::atomic<float>& total, float value) {
    float seen = total.load();
    while (!total.compare_exchange_weak(seen, seen + value)) {}
}

// Each thread takes every other block of rows and adds its sums as they come.
torch::Tensor column_sums(torch::Tensor x) {
    constexpr int64_t kThreads = 2, kBlock = 16;
    x = x.contiguous();
    const int64_t rows = x.size(0), width = x.size(1);
    const float* in = x.data_ptr<float>();
    std::vector<std::atomic<float>> totals(width);
    for (auto& total : totals) total.store(0.f);
    auto work = [&](int64_t thread) {
        std::vector<float> sums(width);
        for (int64_t start = thread * kBlock; start < rows; start += kThreads * kBlock) {
            sums.assign(width, 0.f);
            for (int64_t row = start; row < std::min(start + kBlock, rows); ++row)
                for (int64_t i = 0; i < width; ++i) sums[i] += in[row * width + i];
            for (int64_t i = 0; i < width; ++i) add(totals[i], sums[i]);
        }
    };
    std::vector<std::thread> threads;
    for (int64_t thread = 0; thread < kThreads; ++thread) threads.emplace_back(work, thread);
    for (auto& thread : threads) thread.join();
    auto y = torch::empty({width}, x.options());
    for (int64_t i = 0; i < width; ++i) y.data_ptr<float>()[i] = totals[i].load();
    return y;
}
"""

native = load_inline(name="atomics", cpp_sources=SOURCE, functions=["column_sums"])


class ModelNew(nn.Module):
    def forward(self, x):
        return native.column_sums(x)
