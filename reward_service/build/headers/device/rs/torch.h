// Namespace torch.
#pragma once
#include <ATen/Dispatch.h>
#include <rs/functions.h>

namespace torch {
using namespace at;
using c10::nullopt;
using c10::optional;
using Dtype = at::ScalarType;
namespace autograd {
using Variable = at::Tensor;
using variable_list = std::vector<at::Tensor>;
} // namespace autograd
using autograd::Variable;

constexpr auto kUInt8 = at::kByte;
constexpr auto kInt8 = at::kChar;
constexpr auto kInt16 = at::kShort;
constexpr auto kInt32 = at::kInt;
constexpr auto kInt64 = at::kLong;
constexpr auto kFloat16 = at::kHalf;
constexpr auto kFloat32 = at::kFloat;
constexpr auto kFloat64 = at::kDouble;
constexpr auto kU8 = kUInt8;
constexpr auto kI8 = kInt8;
constexpr auto kI16 = kInt16;
constexpr auto kI32 = kInt32;
constexpr auto kI64 = kInt64;
constexpr auto kF16 = kFloat16;
constexpr auto kF32 = kFloat32;
constexpr auto kF64 = kFloat64;

// What torch::tensor takes: a number or nested braces of them.
struct rs_data {
  template <typename T, typename = std::enable_if_t<c10::is_scalar_value<T>>>
  rs_data(T);
  rs_data(std::initializer_list<rs_data>);
  template <typename T>
  rs_data(const std::vector<T>&);
  template <typename T>
  rs_data(c10::ArrayRef<T>);
};
at::Tensor tensor(rs_data, const at::TensorOptions& = {});

namespace cuda {
size_t device_count();
bool is_available();
bool cudnn_is_available();
void manual_seed(uint64_t);
void synchronize(int64_t = -1);
} // namespace cuda

class Library {
 public:
  template <typename... A>
  Library& def(A&&...) &;
  template <typename... A>
  Library& impl(A&&...) &;
};
template <typename F>
F&& dispatch(c10::DeviceType, F&&);
} // namespace torch

#define RS_JOIN_(a, b) a##b
#define RS_JOIN(a, b) RS_JOIN_(a, b)
#define TORCH_LIBRARY(ns, m) void RS_JOIN(rs_library_, ns)(torch::Library & m)
#define TORCH_LIBRARY_FRAGMENT(ns, m) \
  void RS_JOIN(RS_JOIN(rs_fragment_, ns), __COUNTER__)(torch::Library & m)
#define TORCH_LIBRARY_IMPL(ns, key, m) \
  void RS_JOIN(RS_JOIN(rs_impl_, ns), RS_JOIN(key, __COUNTER__))(torch::Library & m)
