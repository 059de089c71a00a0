// Devices, layouts, dtypes, TensorOptions and Scalar.
#pragma once
#include <rs/array_ref.h>
#include <rs/scalar_type.h>

namespace c10 {
using DeviceIndex = int8_t;
using StreamId = int64_t;

// Stands for std::string_view in declarations, whose header costs too much.
struct rs_text {
  rs_text(const char*);
  template <typename S, typename = decltype(std::declval<const S&>().data())>
  rs_text(const S&);
};

enum class DeviceType : int8_t {
  CPU, CUDA, MKLDNN, OPENGL, OPENCL, IDEEP, HIP, FPGA, MAIA, XLA, Vulkan, Metal, XPU, MPS, Meta,
  HPU, VE, Lazy, IPU, MTIA, PrivateUse1, COMPILE_TIME_MAX_DEVICE_TYPES
};
constexpr DeviceType kCPU = DeviceType::CPU;
constexpr DeviceType kCUDA = DeviceType::CUDA;
constexpr DeviceType kHIP = DeviceType::HIP;
constexpr DeviceType kXLA = DeviceType::XLA;
constexpr DeviceType kMPS = DeviceType::MPS;
constexpr DeviceType kMeta = DeviceType::Meta;
constexpr DeviceType kXPU = DeviceType::XPU;

// What the real one measures: sources may pass it in a struct to a kernel, or ask for its size.
#define RS_LAYOUT(align, size) \
 private:                      \
  alignas(align) char rs_layout_[size]; \
 public:

struct Device {
  RS_LAYOUT(1, 2)
  using Type = DeviceType;
  Device(DeviceType, DeviceIndex = -1);
  Device(const char*);
  template <typename S, typename = decltype(std::declval<const S&>().c_str())>
  Device(const S&);
  bool operator==(const Device&) const noexcept;
  bool operator!=(const Device&) const noexcept;
  void set_index(DeviceIndex);
  DeviceType type() const noexcept;
  DeviceIndex index() const noexcept;
  bool has_index() const noexcept;
  bool is_cuda() const noexcept;
  bool is_cpu() const noexcept;
  bool is_meta() const noexcept;
  bool is_mps() const noexcept;
  bool is_hip() const noexcept;
  bool is_xpu() const noexcept;
#ifdef RS_NEEDS_STD_STRING
  std::string str() const;
#endif
};

enum class Layout : int8_t {
  Strided, Sparse, SparseCsr, Mkldnn, SparseCsc, SparseBsr, SparseBsc, Jagged, NumOptions
};
constexpr auto kStrided = Layout::Strided;
constexpr auto kSparse = Layout::Sparse;
constexpr auto kSparseCsr = Layout::SparseCsr;
constexpr auto kSparseCsc = Layout::SparseCsc;
constexpr auto kSparseBsr = Layout::SparseBsr;
constexpr auto kSparseBsc = Layout::SparseBsc;
constexpr auto kMkldnn = Layout::Mkldnn;
constexpr auto kJagged = Layout::Jagged;

enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d, NumOptions };
} // namespace c10

namespace caffe2 {
class TypeMeta {
  RS_LAYOUT(2, 2)
  template <typename T>
  static TypeMeta Make();
  static TypeMeta fromScalarType(c10::ScalarType);
  size_t itemsize() const noexcept;
  c10::ScalarType toScalarType() const;
  bool isScalarType() const;
  bool isScalarType(c10::ScalarType) const;
  template <typename T>
  bool Match() const noexcept;
#ifdef RS_NEEDS_STD_STRING
  std::string_view name() const noexcept;
#endif
};
bool operator==(TypeMeta, TypeMeta) noexcept;
bool operator!=(TypeMeta, TypeMeta) noexcept;
} // namespace caffe2

namespace c10 {
bool operator==(ScalarType, caffe2::TypeMeta) noexcept;
bool operator==(caffe2::TypeMeta, ScalarType) noexcept;
bool operator!=(ScalarType, caffe2::TypeMeta) noexcept;
bool operator!=(caffe2::TypeMeta, ScalarType) noexcept;
caffe2::TypeMeta scalarTypeToTypeMeta(ScalarType);
ScalarType typeMetaToScalarType(caffe2::TypeMeta);
caffe2::TypeMeta get_default_dtype();

struct TensorOptions {
  RS_LAYOUT(2, 8)
  TensorOptions();
  TensorOptions(Layout);
  template <
      typename T,
      typename = std::enable_if_t<std::is_same_v<std::decay_t<T>, Device>>>
  TensorOptions(T&&);
  template <
      typename... A,
      typename = std::enable_if_t<std::is_constructible_v<Device, A&&...>>>
  TensorOptions(A&&...);
  TensorOptions(caffe2::TypeMeta);
  TensorOptions(ScalarType);
  TensorOptions(MemoryFormat);

  bool operator==(const TensorOptions&) const noexcept;
  TensorOptions device(std::optional<Device>) const noexcept;
  template <typename... A>
  TensorOptions device(A&&...) const noexcept;
  TensorOptions device_index(DeviceIndex) const noexcept;
  TensorOptions dtype(std::optional<caffe2::TypeMeta>) const noexcept;
  TensorOptions dtype(std::optional<ScalarType>) const noexcept;
  template <typename T>
  TensorOptions& dtype();
  TensorOptions layout(std::optional<Layout>) const noexcept;
  TensorOptions requires_grad(std::optional<bool>) const noexcept;
  TensorOptions pinned_memory(std::optional<bool>) const noexcept;
  TensorOptions memory_format(std::optional<MemoryFormat>) const noexcept;
  TensorOptions merge_in(TensorOptions) const noexcept;

  Device device() const noexcept;
  std::optional<Device> device_opt() const noexcept;
  DeviceIndex device_index() const noexcept;
  bool has_device() const noexcept;
  caffe2::TypeMeta dtype() const noexcept;
  std::optional<caffe2::TypeMeta> dtype_opt() const noexcept;
  bool has_dtype() const noexcept;
  Layout layout() const noexcept;
  std::optional<Layout> layout_opt() const noexcept;
  bool has_layout() const noexcept;
  bool requires_grad() const noexcept;
  bool pinned_memory() const noexcept;
  std::optional<bool> pinned_memory_opt() const noexcept;
  std::optional<MemoryFormat> memory_format_opt() const noexcept;
  bool is_sparse() const;
};
TensorOptions dtype(caffe2::TypeMeta);
TensorOptions dtype(ScalarType);
template <typename T>
TensorOptions dtype();
TensorOptions layout(Layout);
TensorOptions device(Device);
TensorOptions device_index(DeviceIndex);
TensorOptions requires_grad(bool = true);
TensorOptions memory_format(MemoryFormat);

template <typename T>
constexpr bool is_scalar_value =
    std::is_arithmetic_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16> ||
    std::is_same_v<T, complex<float>> || std::is_same_v<T, complex<double>> ||
    std::is_same_v<T, complex<Half>>;

class Scalar {
  RS_LAYOUT(16, 32)
  Scalar();
  template <typename T, typename = std::enable_if_t<is_scalar_value<T>>>
  Scalar(T);
  template <typename T>
  T to() const;
#define RS_ACCESSOR(cpp, name) cpp to##name() const;
  RS_ACCESSOR(uint8_t, Byte) RS_ACCESSOR(int8_t, Char) RS_ACCESSOR(int16_t, Short)
  RS_ACCESSOR(int, Int) RS_ACCESSOR(int64_t, Long) RS_ACCESSOR(Half, Half)
  RS_ACCESSOR(float, Float) RS_ACCESSOR(double, Double) RS_ACCESSOR(bool, Bool)
  RS_ACCESSOR(BFloat16, BFloat16) RS_ACCESSOR(complex<float>, ComplexFloat)
  RS_ACCESSOR(complex<double>, ComplexDouble) RS_ACCESSOR(uint16_t, UInt16)
  RS_ACCESSOR(uint32_t, UInt32) RS_ACCESSOR(uint64_t, UInt64)
#undef RS_ACCESSOR
  bool isFloatingPoint() const;
  bool isIntegral(bool include_bool) const;
  bool isComplex() const;
  bool isBoolean() const;
  ScalarType type() const;
  Scalar operator-() const;
  template <typename T>
  bool equal(T) const;
};
} // namespace c10

namespace at {
using caffe2::TypeMeta;
}
