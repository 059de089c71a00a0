// The functions of `at` and `torch`.
#pragma once
#include <rs/tensor.h>

namespace at {
#include <rs/functions_common.inc>
#ifdef RS_NEEDS_FUNCTIONS
#include <rs/functions_other.inc>
#endif

Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& = {},
                 std::optional<Device> target = std::nullopt);
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& = {},
                 std::optional<Device> target = std::nullopt);
template <typename D, typename = decltype(std::declval<D>()(static_cast<void*>(nullptr)))>
Tensor from_blob(void* data, IntArrayRef sizes, const D& deleter, const TensorOptions& = {},
                 std::optional<Device> target = std::nullopt);
template <typename D, typename = decltype(std::declval<D>()(static_cast<void*>(nullptr)))>
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const D& deleter,
                 const TensorOptions& = {}, std::optional<Device> target = std::nullopt);

int64_t numel(const Tensor&);
void manual_seed(uint64_t);
bool hasCUDA();
int get_num_threads();
void set_num_threads(int);
std::vector<Tensor> expand_outplace(TensorList);
std::vector<int64_t> infer_size(IntArrayRef, IntArrayRef);

struct Context {
  bool allowTF32CuBLAS() const;
  bool allowTF32CuDNN() const;
  void setAllowTF32CuBLAS(bool);
  void setAllowTF32CuDNN(bool);
  bool deterministicAlgorithms() const;
};
Context& globalContext();

struct NoGradGuard {
  NoGradGuard();
  ~NoGradGuard();
};
struct AutoGradMode {
  explicit AutoGradMode(bool);
  ~AutoGradMode();
};
struct AutoNonVariableTypeMode {
  explicit AutoNonVariableTypeMode(bool = true);
  ~AutoNonVariableTypeMode();
};
} // namespace at

namespace c10 {
struct InferenceMode {
  explicit InferenceMode(bool = true);
  ~InferenceMode();
};
struct DeviceGuard {
  explicit DeviceGuard(Device);
  ~DeviceGuard();
  void reset_device(Device);
  void set_index(DeviceIndex);
  Device original_device() const;
  Device current_device() const;
};
struct OptionalDeviceGuard {
  explicit OptionalDeviceGuard();
  explicit OptionalDeviceGuard(Device);
  explicit OptionalDeviceGuard(std::optional<Device>);
  ~OptionalDeviceGuard();
  void reset_device(Device);
};
} // namespace c10

namespace at {
// The guard for the device of a tensor, which may be undefined.
std::optional<Device> device_of(const Tensor&);
std::optional<Device> device_of(const std::optional<Tensor>&);
} // namespace at
