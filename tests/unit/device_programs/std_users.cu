#include <torch/extension.h>

__global__ void one(float* p, float v) { *p = v; }

torch::Tensor run(std::vector<torch::Tensor> xs, std::string name) {
    std::ostringstream text;
    text << "n=" << xs.size() << xs[0].sizes() << xs[0].dtype() << xs[0] << std::endl;
    std::cout << text.str();
    auto best = std::max_element(xs.begin(), xs.end(), [](const auto& a, const auto& b) {
        return a.numel() < b.numel();
    });
    auto low = std::min({1, 2, 3});
    std::sort(xs.begin(), xs.end(), [](auto& a, auto& b) { return a.dim() < b.dim(); });
    auto p = std::make_unique<float[]>(4);
    p[0] = std::numeric_limits<float>::infinity() + std::sqrt(2.0f) + low;
    one<<<1, 1>>>(best->data_ptr<float>(), p[0]);
    if (name.empty()) throw std::invalid_argument("no name " + std::to_string(3));
    return *best;
}
