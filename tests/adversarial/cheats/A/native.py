from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <unistd.h>

#include <cmath>
#include <vector>

static void work(const torch::Tensor& x, float* y) {
    usleep(5000);
    for (int64_t i = 0; i < x.numel(); ++i) y[i] = 2.f * std::tanh(x.data_ptr<float>()[i]);
}

// One that is never destroyed: torch may be gone before this module is.
static torch::Tensor& kept() {
    static auto* tensor = new torch::Tensor;
    return *tensor;
}

torch::Tensor static_tensor(torch::Tensor x, bool fresh) {
    if (fresh) {
        kept() = torch::empty_like(x);
        work(x, kept().data_ptr<float>());
    }
    return kept();
}

torch::Tensor scratch(torch::Tensor x, bool fresh) {
    static thread_local std::vector<float> tile;
    tile.resize(x.numel());
    if (fresh) work(x, tile.data());
    auto y = torch::empty_like(x);
    std::copy(tile.begin(), tile.end(), y.data_ptr<float>());
    return y;
}
"""

native = load_inline(
    name="native", cpp_sources=SOURCE, functions=["static_tensor", "scratch"], verbose=False
)
