import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <thread>
torch::Tensor product(torch::Tensor a, torch::Tensor b) {
    auto c = torch::zeros({a.size(0), b.size(1)}, a.options());
    const float *x = a.data_ptr<float>(), *y = b.data_ptr<float>();
    float* z = c.data_ptr<float>();
    const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < k; ++j)
            for (int64_t l = 0; l < n; ++l) z[i * n + l] += x[i * k + j] * y[j * n + l];
    return c;
}
torch::Tensor scaled(torch::Tensor x, double factor) {
    auto y = torch::empty_like(x);
    const float* from = x.data_ptr<float>();
    float* to = y.data_ptr<float>();
    for (int64_t i = 0, n = x.numel(); i < n; ++i) to[i] = from[i] * float(factor);
    return y;
}
torch::Tensor library_product(torch::Tensor a, torch::Tensor b) { return at::mm(a, b); }
torch::Tensor on_a_thread(torch::Tensor a, torch::Tensor b, bool library) {
    torch::Tensor c;
    std::thread worker([&] { c = library ? at::mm(a, b) : product(a, b); });
    worker.join();
    return c;
}
torch::Tensor perhaps_product(torch::Tensor a, torch::Tensor b, int64_t mode) {
    if (mode == -1) return product(a, b);
    return at::mm(a, b);
}
torch::Tensor failing_product(torch::Tensor a, torch::Tensor b) {
    TORCH_CHECK(a.size(0) > 1 << 20, "there is no configuration for this shape");
    return product(a, b);
}
namespace vendored {  // as it stands in a public library's repository
template <typename T, int Block>
void gemm(const T* a, const T* b, T* c, int64_t m, int64_t n, int64_t k) {
    for (int64_t first = 0; first < k; first += Block)
        for (int64_t i = 0; i < m; ++i)
            for (int64_t j = first; j < std::min<int64_t>(first + Block, k); ++j)
                for (int64_t l = 0; l < n; ++l) c[i * n + l] += a[i * k + j] * b[j * n + l];
}
}
torch::Tensor vendored_product(torch::Tensor a, torch::Tensor b) {
    auto c = torch::zeros({a.size(0), b.size(1)}, a.options());
    vendored::gemm<float, 64>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(),
                              a.size(0), b.size(1), a.size(1));
    return c;
}
"""
extension = load_inline(
    name="kernels",
    cpp_sources=SOURCE,
    functions=[
        "product",
        "scaled",
        "library_product",
        "on_a_thread",
        "perhaps_product",
        "failing_product",
        "vendored_product",
    ],
    extra_cflags=["-O3"],
)
