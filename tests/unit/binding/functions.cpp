// Built twice, with pybind11 and with the facade: `test_build_binding.py` compares the two.
#include <array>
#include <atomic>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace {

template <class T>
T echo(T value) {
  return value;
}
template <class T>
const T& echo_const(const T& value) {
  return value;
}
template <class T>
T echo_copied(const T& value) {
  return value;
}
template <class T>
T echo_reference(T& value) {
  return value;
}
template <class T>
T echo_moved(T&& value) {
  return std::move(value);
}

std::string text_of(const char* text) {
  return text == nullptr ? "(null)" : text;
}
std::string joined(std::vector<std::string_view> parts) {
  std::string all;
  for (auto part : parts) {
    all += std::string(part) + ";";
  }
  return all;
}
const char* maybe_text(bool some) {
  return some ? "some" : nullptr;
}
at::Tensor undefined() {
  return {};
}
at::Tensor first(const std::vector<at::Tensor>& tensors) {
  return tensors.at(0);
}
at::Tensor& add_one(at::Tensor& x) {
  return x.add_(1);
}
int64_t total(at::IntArrayRef sizes) {
  int64_t sum = 0;
  for (auto size : sizes) {
    sum += size;
  }
  return sum;
}
at::IntArrayRef sizes_of(const at::Tensor& x) {
  return x.sizes();
}
void nothing() {}
int no_throw(int x) noexcept {
  return x + 1;
}
struct Scale {
  double factor;
  double padding[8];
  double operator()(double x) const { return factor * x; }
};
struct Counter {
  std::shared_ptr<int> count;
  int operator()() { return ++*count; }
};

at::Tensor linear(
    const at::Tensor& x,
    double scale,
    std::optional<at::Tensor> bias,
    int64_t repeat,
    const std::string& mode) {
  auto y = x * scale * static_cast<double>(repeat);
  return (bias ? y + *bias : y) * (mode == "negate" ? -1 : 1);
}

struct OwnError : std::exception {
  const char* what() const noexcept override { return "own"; }
};
int raises(const std::string& kind) {
  if (kind == "runtime_error") throw std::runtime_error("runtime");
  if (kind == "invalid_argument") throw std::invalid_argument("invalid");
  if (kind == "out_of_range") throw std::out_of_range("range");
  if (kind == "domain_error") throw std::domain_error("domain");
  if (kind == "length_error") throw std::length_error("length");
  if (kind == "range_error") throw std::range_error("range");
  if (kind == "overflow_error") throw std::overflow_error("overflow");
  if (kind == "bad_alloc") throw std::bad_alloc();
  if (kind == "logic_error") throw std::logic_error("logic");
  if (kind == "own") throw OwnError();
  if (kind == "int") throw 3;
  if (kind == "nested") {
    try {
      throw std::runtime_error("inner");
    } catch (...) {
      std::throw_with_nested(std::invalid_argument("outer"));
    }
  }
  TORCH_CHECK(kind != "check", "checked ", kind);
  TORCH_CHECK_VALUE(kind != "check_value", "value");
  TORCH_CHECK_TYPE(kind != "check_type", "type");
  TORCH_CHECK_INDEX(kind != "check_index", "index");
  TORCH_CHECK_NOT_IMPLEMENTED(kind != "check_not_implemented", "not implemented");
  TORCH_INTERNAL_ASSERT(kind != "internal_assert", "assert");
  if (kind == "linalg") C10_THROW_ERROR(LinAlgError, "linalg");
  if (kind == "out_of_memory") C10_THROW_ERROR(OutOfMemoryError, "memory");
  if (kind == "tensor") at::ones({2}).view({3});
  if (kind == "bad_access") (void)std::optional<int>().value();
  return 7;
}
int warns(int times) {
  for (int i = 0; i < times; ++i) {
    TORCH_WARN("careful ", i);
  }
  return times;
}
int warns_and_raises() {
  TORCH_WARN("careful");
  throw std::runtime_error("after the warning");
}
at::Tensor calls_python(const at::Tensor& x) {
  return x.add(1);
}

// True if another thread could take the GIL while this one was in here.
bool let_others_run() {
  std::atomic<bool> ran{false};
  std::thread other([&] {
    py::gil_scoped_acquire gil;
    ran = true;
  });
  other.join();
  return ran;
}
bool release_inside() {
  py::gil_scoped_release no_gil;
  return let_others_run();
}
bool holds_gil() {
  return PyGILState_Check() == 1;
}

std::string which(int) {
  return "int";
}
std::string which(double) {
  return "double";
}
std::string which(const std::string&) {
  return "string";
}
std::string which(at::Tensor) {
  return "tensor";
}
std::string which(std::vector<int64_t>) {
  return "vector";
}
std::string which(bool, int) {
  return "bool, int";
}
std::string which(std::optional<at::Tensor>, int, int) {
  return "optional";
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  using namespace pybind11::literals;
  m.doc() = "functions";
  m.attr("answer") = 42;
  m.attr("version") = "1.0";
  m.attr("ratio") = 0.5;
  m.attr("shape") = std::vector<int64_t>{2, 3};
  m.attr("missing") = py::none();

  m.def("bool_", &echo<bool>);
  m.def("int8", &echo<int8_t>);
  m.def("uint8", &echo<uint8_t>);
  m.def("int16", &echo<int16_t>);
  m.def("uint16", &echo<uint16_t>);
  m.def("int32", &echo<int>);
  m.def("uint32", &echo<unsigned>);
  m.def("int64", &echo<int64_t>);
  m.def("uint64", &echo<uint64_t>);
  m.def("long_long", &echo<long long>);
  m.def("unsigned_long_long", &echo<unsigned long long>);
  m.def("size", &echo<size_t>);
  m.def("float32", &echo<float>);
  m.def("float64", &echo<double>);
  m.def("complex64", &echo<c10::complex<float>>);
  m.def("complex128", &echo<c10::complex<double>>);
  m.def("string", &echo<std::string>);
  m.def("string_view", &echo<std::string_view>);
  m.def("text_of", &text_of);
  m.def("maybe_text", &maybe_text);
  m.def("joined", &joined);
  m.def("tensor", &echo<at::Tensor>);
  m.def("scalar", &echo<at::Scalar>);
  m.def("dtype", &echo<at::ScalarType>);
  m.def("device", &echo<at::Device>);
  m.def("memory_format", &echo<at::MemoryFormat>);
  m.def("generator", &echo<at::Generator>);

  m.def("int_const", &echo_const<int>);
  m.def("int_reference", &echo_reference<int>);
  m.def("int_moved", &echo_moved<int>);
  m.def("string_const", &echo_const<std::string>);
  m.def("string_moved", &echo_moved<std::string>);
  m.def("tensor_const", &echo_const<at::Tensor>);
  m.def("tensor_reference", &echo_reference<at::Tensor>);
  m.def("tensor_moved", &echo_moved<at::Tensor>);
  m.def("device_const", &echo_const<at::Device>);
  m.def("vector_reference", &echo_reference<std::vector<int>>);
  m.def("optional_moved", &echo_moved<std::optional<at::Tensor>>);
  m.def("pair_const", &echo_copied<std::pair<int, double>>);

  m.def("optional_int", &echo<std::optional<int>>);
  m.def("optional_double", &echo<std::optional<double>>);
  m.def("optional_bool", &echo<std::optional<bool>>);
  m.def("optional_string", &echo<std::optional<std::string>>);
  m.def("optional_tensor", &echo<std::optional<at::Tensor>>);
  m.def("optional_vector", &echo<std::optional<std::vector<int64_t>>>);
  m.def("optional_device", &echo<c10::optional<at::Device>>);
  m.def("vector_int", &echo<std::vector<int64_t>>);
  m.def("vector_uint8", &echo<std::vector<uint8_t>>);
  m.def("vector_double", &echo<std::vector<double>>);
  m.def("vector_bool", &echo<std::vector<bool>>);
  m.def("vector_string", &echo<std::vector<std::string>>);
  m.def("vector_tensor", &echo<std::vector<at::Tensor>>);
  m.def("vector_vector", &echo<std::vector<std::vector<int>>>);
  m.def("vector_optional", &echo<std::vector<std::optional<at::Tensor>>>);
  m.def("array_int", &echo<std::array<int, 3>>);
  m.def("array_tensor", &echo<std::array<at::Tensor, 2>>);
  m.def("array_device", &echo<std::array<at::Device, 1>>);
  m.def("pair_mixed", &echo<std::pair<int, std::string>>);
  m.def("tuple_tensors", &echo<std::tuple<at::Tensor, at::Tensor, at::Tensor>>);
  m.def("tuple_mixed", &echo<std::tuple<bool, double, std::vector<int>, std::optional<int>>>);
  m.def("tuple_empty", &echo<std::tuple<>>);
  m.def("tuple_nested", &echo<std::tuple<std::pair<int, int>, std::string>>);
  m.def("total", &total);
  m.def("sizes_of", &sizes_of);

  m.def("undefined", &undefined);
  m.def("first", &first);
  m.def("add_one", &add_one);
  m.def("nothing", &nothing, "does nothing");
  m.def("no_throw", &no_throw, py::arg("x"));
  m.def("lambda", [](int a, int b) { return a - b; }, "a"_a, "b"_a = 2);
  m.def("lambda_noexcept", [](int a) noexcept { return a; });
  const int base = 40;
  m.def("capture", [base](int a) { return base + a; });
  m.def("functor", Scale{2.5, {}});
  m.def("counter", Counter{std::make_shared<int>(0)});
  m.def("function", std::function<int(int)>([](int x) { return x * 3; }));
  m.def("chained", [] { return 1; }).def("chained_too", [] { return 2; });

  m.def(
      "linear",
      &linear,
      "Scales.",
      py::arg("x"),
      py::arg("scale") = 1.0,
      py::arg("bias") = py::none(),
      py::arg("repeat") = 1,
      py::arg("mode") = "none");
  m.def("linear_named", &linear, "x"_a, "scale"_a, "bias"_a, "repeat"_a, "mode"_a);
  m.def("linear_positional", &linear, py::return_value_policy::move);
  m.def("nullopt", [](std::optional<int> x) { return x; }, py::arg("x") = std::nullopt);
  m.def(
      "defaults",
      [](std::vector<int64_t> pads, bool flag, at::ScalarType dtype) {
        return std::make_tuple(pads, flag, dtype);
      },
      py::arg("pads") = std::vector<int64_t>{1, 2},
      py::arg("flag") = true,
      py::arg("dtype") = at::kHalf);
  m.def("strict", &echo<double>, py::arg("x").noconvert());
  m.def("not_none", &echo<std::optional<int>>, py::arg("x").none(false));
  m.def("unnamed", [](int a, int b) { return a * 10 + b; }, py::arg(), py::arg("b") = 5);

  m.def("which", static_cast<std::string (*)(int)>(&which));
  m.def("which", py::overload_cast<double>(&which));
  m.def("which", py::overload_cast<const std::string&>(&which), "of a string");
  m.def("which", py::overload_cast<at::Tensor>(&which));
  m.def("which", py::overload_cast<std::vector<int64_t>>(&which));
  m.def("which", py::overload_cast<bool, int>(&which), py::arg("flag"), py::arg("times") = 1);
  m.def("which", py::overload_cast<std::optional<at::Tensor>, int, int>(&which));
  m.def("order", [](double) { return "double"; });
  m.def("order", [](int) { return "int"; });

  m.def("raises", &raises);
  m.def("raises_wrapped", torch::wrap_pybind_function(raises));
  m.def("warns", &warns);
  m.def("warns_wrapped", torch::wrap_pybind_function(warns), "warns");
  m.def("warns_and_raises_wrapped", torch::wrap_pybind_function(warns_and_raises));
  m.def("nothing_wrapped", torch::wrap_pybind_function(nothing));
  m.def("tensor_wrapped", torch::wrap_pybind_function(echo<at::Tensor>));
  m.def("const_wrapped", torch::wrap_pybind_function(echo_const<at::Tensor>));
  m.def("linear_wrapped", torch::wrap_pybind_function(linear), "doc");
  m.def("calls_python", &calls_python);
  m.def("calls_python_wrapped", torch::wrap_pybind_function(calls_python));

  m.def("guarded", &let_others_run, py::call_guard<py::gil_scoped_release>());
  m.def("guarded_holds", &holds_gil, py::call_guard<py::gil_scoped_release>());
  m.def("guarded_raises", &raises, py::call_guard<py::gil_scoped_release>());
  m.def("guarded_tensor", &echo<at::Tensor>, py::call_guard<py::gil_scoped_release>());
  m.def("release_inside", &release_inside);
  m.def("holds_gil", &holds_gil);
  m.def("no_gil_wrapped", torch::wrap_pybind_function_no_gil(let_others_run));
}
