#include <torch/torch.h>
#include <cuda_runtime.h>
#include <optional>
#include <string>
#include <tuple>

__global__ void fill(float* p, float v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = v;
}

std::tuple<torch::Tensor, torch::Tensor> factories(torch::Tensor x, c10::optional<torch::Tensor> bias,
                                                   std::string mode, torch::IntArrayRef shape) {
    auto opts = torch::TensorOptions().dtype(torch::kFloat32).device(torch::kCUDA, 0)
                    .requires_grad(false).layout(torch::kStrided);
    auto a = torch::zeros({2, 3}, opts);
    auto b = torch::full({x.size(0)}, -1.5, x.options());
    auto c = torch::arange(0, 10, torch::dtype(torch::kInt64).device(x.device()));
    auto d = torch::ones(shape, at::device(at::kCUDA).dtype(at::kHalf));
    auto e = torch::tensor({1.0f, 2.0f}, opts);
    auto f = torch::empty({x.size(0), x.size(1)}, torch::kFloat);
    auto g = torch::rand_like(x), h = torch::randn({4, 4}, torch::Device(torch::kCUDA, 0));
    if (bias.has_value() && bias->defined()) a = a + bias.value() * 2 - 1.0 / b;
    if (mode == "sum") f = x.sum({0, 1}, true).to(torch::kFloat32).unsqueeze(-1);
    auto [values, indices] = x.max(1);
    float first = x[0][0].item<float>();
    int64_t n = c.item().toLong();
    auto w = x.view({-1, x.size(-1)}).transpose(0, 1).contiguous().reshape({1, -1});
    a += d.select(0, 1).narrow(0, 0, 2);
    a[0] = 3;
    std::vector<int64_t> sizes = x.sizes().vec();
    sizes.push_back(n);
    auto y = x.new_empty(sizes);
    y.zero_().fill_(first).copy_(e, true);
    auto z = torch::matmul(x, w.t()) + at::linear(x, w, bias) + torch::softmax(g, -1);
    auto parts = torch::cat({x, y, z}, 0).chunk(2, 0);
    fill<<<1, 32>>>(y.data_ptr<float>(), first, y.numel());
    return std::make_tuple(y, parts[0] == h);
}
