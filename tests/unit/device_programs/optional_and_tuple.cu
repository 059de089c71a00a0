#include <torch/extension.h>

__global__ void add_bias(float* y, const float* bias, int n, bool has) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) y[i] += has ? bias[i] : 0.f;
}

std::tuple<at::Tensor, at::Tensor, int64_t> run(
    const at::Tensor& x, const std::optional<at::Tensor>& bias, at::OptionalIntArrayRef dims,
    const at::Scalar& alpha, std::vector<int64_t> shape, c10::optional<double> p = c10::nullopt) {
    c10::IntArrayRef view(shape);
    at::Tensor y = x.reshape(view) * alpha;
    const float* b = bias.has_value() ? bias->data_ptr<float>() : nullptr;
    add_bias<<<1, 32>>>(y.data_ptr<float>(), b, y.numel(), b != nullptr);
    for (const auto i : c10::irange(y.dim())) TORCH_CHECK_GT(y.size(i), 0);
    auto s = at::sum(y, dims.has_value() ? dims.value() : at::IntArrayRef{0}, false);
    AT_ASSERTM(y.is_contiguous(), "layout");
    at::NoGradGuard guard;
    return {y, s, static_cast<int64_t>(p.value_or(0.5)) + alpha.to<int>()};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.doc() = "one";
    m.def("run", &run, py::arg("x"), py::arg("bias") = py::none(), py::arg("dims") = py::none(),
          py::arg("alpha") = 1, py::arg("shape") = std::vector<int64_t>{-1}, py::arg("p") = 0.5,
          py::call_guard<py::gil_scoped_release>());
    m.def("id", [](at::Tensor x) { return x; });
}
