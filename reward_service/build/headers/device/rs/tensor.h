// at::Tensor, declared only. `methods_*.inc` hold the operators that torch generates.
#pragma once
#include <rs/options.h>
#ifdef RS_NEEDS_ACCESSOR
#include <ATen/core/TensorAccessor.h>
#endif

namespace c10 {
struct Storage {
  RS_LAYOUT(8, 8)
  void* data() const;
  void* mutable_data() const;
  size_t nbytes() const;
  Device device() const;
};
struct Stream;
} // namespace c10

namespace at {
struct Generator {
  RS_LAYOUT(8, 8)
};
class Tensor;
using TensorList = ArrayRef<Tensor>;

namespace Reduction {
enum Reduction { None, Mean, Sum, END };
}
enum class Backend { CPU, CUDA, HIP, Undefined };
constexpr Backend kBackendCUDA = Backend::CUDA;

struct DeprecatedTypeProperties {
  Backend backend() const;
  ScalarType scalarType() const;
  caffe2::TypeMeta typeMeta() const;
  DeviceType device_type() const;
  Layout layout() const;
  bool is_sparse() const;
  bool is_cuda() const;
  bool operator==(const DeprecatedTypeProperties&) const;
  bool operator!=(const DeprecatedTypeProperties&) const;
  TensorOptions options(int16_t = -1) const;
  TensorOptions options(std::optional<Device>) const;
  operator TensorOptions() const;
#ifdef RS_NEEDS_STD_STRING
  std::string toString() const;
#endif
};

namespace indexing {
enum class TensorIndexType { None, Ellipsis, SymInt, Boolean, Slice, Tensor };
constexpr std::nullopt_t None = std::nullopt;
struct EllipsisIndexType {};
extern const EllipsisIndexType Ellipsis;
struct Slice {
  Slice(std::optional<int64_t> = std::nullopt, std::optional<int64_t> = std::nullopt,
        std::optional<int64_t> = std::nullopt);
};
struct TensorIndex {
  TensorIndex(std::nullopt_t);
  TensorIndex(EllipsisIndexType);
  TensorIndex(const char*);
  template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>>
  TensorIndex(T);
  TensorIndex(Slice);
  TensorIndex(Tensor);
};
} // namespace indexing

class Tensor {
  RS_LAYOUT(8, 8)
  Tensor();
  Tensor(const Tensor&);
  Tensor(Tensor&&);
  ~Tensor();
  Tensor& operator=(const Tensor&) &;
  Tensor& operator=(Tensor&&) &;
  Tensor& operator=(const Scalar&) &&;
  Tensor& operator=(const Tensor&) &&;
  Tensor& operator=(Tensor&&) &&;

  int64_t dim() const;
  int64_t ndimension() const;
  int64_t size(int64_t) const;
  int64_t stride(int64_t) const;
  int64_t numel() const;
  int64_t storage_offset() const;
  int64_t element_size() const;
  size_t itemsize() const;
  size_t nbytes() const;
  size_t use_count() const noexcept;
  IntArrayRef sizes() const;
  IntArrayRef strides() const;
  ScalarType scalar_type() const;
  caffe2::TypeMeta dtype() const;
  TensorOptions options() const;
  Device device() const;
  DeviceIndex get_device() const;
  Layout layout() const;
  DeprecatedTypeProperties& type() const;
  const Storage& storage() const;
  bool has_storage() const;
  bool defined() const;
  bool is_same(const Tensor&) const noexcept;
  bool is_alias_of(const Tensor&) const;
  bool is_contiguous(MemoryFormat = MemoryFormat::Contiguous) const;
  bool is_non_overlapping_and_dense() const;
  bool is_complex() const;
  bool is_floating_point() const;
  bool is_signed() const;
  bool is_cpu() const;
  bool is_cuda() const;
  bool is_hip() const;
  bool is_mps() const;
  bool is_meta() const;
  bool is_xpu() const;
  bool is_sparse() const;
  bool is_sparse_csr() const;
  bool is_quantized() const;
  bool is_view() const;
  bool is_leaf() const;
  bool is_conj() const;
  bool is_neg() const;
  bool is_inference() const;
  bool requires_grad() const;
  int64_t _version() const;
  void reset();
  void print() const;
  MemoryFormat suggest_memory_format(bool = false) const;
  Tensor contiguous(MemoryFormat = MemoryFormat::Contiguous) const;
  Tensor conj() const;
  Tensor cpu() const;
  Tensor cuda() const;
  Tensor toType(ScalarType) const;
  Tensor data() const;
  Tensor tensor_data() const;
  Tensor variable_data() const;
  const Tensor& set_requires_grad(bool) const;
  const Tensor& requires_grad_(bool = true) const;
  const Tensor& grad() const;
  Tensor& mutable_grad() const;
  void set_data(const Tensor&) const;
  void retain_grad() const;
  void backward(const Tensor& = {}, std::optional<bool> = std::nullopt, bool = false,
                std::optional<TensorList> = std::nullopt) const;
#ifdef RS_NEEDS_STD_STRING
  std::string toString() const;
  const std::string& name() const;
#endif

  void* data_ptr() const;
  void* mutable_data_ptr() const;
  const void* const_data_ptr() const;
  template <typename T>
  T* data_ptr() const;
  template <typename T>
  T* mutable_data_ptr() const;
  template <typename T, std::enable_if_t<!std::is_const_v<T>, int> = 0>
  const T* const_data_ptr() const;
  template <typename T, std::enable_if_t<std::is_const_v<T>, int> = 0>
  const std::remove_const_t<T>* const_data_ptr() const;
  template <typename T>
  T* data() const;
  template <typename T>
  T item() const;
#ifdef RS_NEEDS_ACCESSOR
  template <typename T, size_t N>
  TensorAccessor<T, N> accessor() const&;
  template <typename T, size_t N>
  TensorAccessor<T, N> accessor() && = delete;
  template <typename T, size_t N, template <typename U> class P = DefaultPtrTraits,
            typename index_t = int64_t>
  GenericPackedTensorAccessor<T, N, P, index_t> generic_packed_accessor() const&;
  template <typename T, size_t N, template <typename U> class P = DefaultPtrTraits,
            typename index_t = int64_t>
  GenericPackedTensorAccessor<T, N, P, index_t> packed_accessor() const&;
  template <typename T, size_t N, template <typename U> class P = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, P> packed_accessor32() const&;
  template <typename T, size_t N, template <typename U> class P = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, P> packed_accessor32() && = delete;
  template <typename T, size_t N, template <typename U> class P = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, P> packed_accessor64() const&;
  template <typename T, size_t N, template <typename U> class P = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, P> packed_accessor64() && = delete;
#endif

  Tensor operator~() const;
  Tensor operator-() const;
  Tensor& operator+=(const Tensor&);
  Tensor& operator+=(const Scalar&);
  Tensor& operator-=(const Tensor&);
  Tensor& operator-=(const Scalar&);
  Tensor& operator*=(const Tensor&);
  Tensor& operator*=(const Scalar&);
  Tensor& operator/=(const Tensor&);
  Tensor& operator/=(const Scalar&);
  Tensor& operator&=(const Tensor&);
  Tensor& operator|=(const Tensor&);
  Tensor& operator^=(const Tensor&);
  Tensor operator[](const Scalar&) const;
  Tensor operator[](const Tensor&) const;
  Tensor operator[](int64_t) const;
  Tensor index(ArrayRef<indexing::TensorIndex>) const;
  Tensor index(std::initializer_list<indexing::TensorIndex>) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex>, const Tensor&);
  Tensor& index_put_(ArrayRef<indexing::TensorIndex>, const Scalar&);
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex>, const Tensor&);
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex>, const Scalar&);

#include <rs/methods_common.inc>
#ifdef RS_NEEDS_METHODS
#include <rs/methods_other.inc>
#endif
};
using TensorBase = Tensor;

#define RS_OPERATOR(op) \
  Tensor operator op(const Tensor&, const Tensor&); \
  Tensor operator op(const Tensor&, const Scalar&); \
  Tensor operator op(const Scalar&, const Tensor&);
RS_OPERATOR(+) RS_OPERATOR(-) RS_OPERATOR(*) RS_OPERATOR(/) RS_OPERATOR(%) RS_OPERATOR(&)
RS_OPERATOR(|) RS_OPERATOR(^) RS_OPERATOR(<) RS_OPERATOR(<=) RS_OPERATOR(>) RS_OPERATOR(>=)
RS_OPERATOR(==) RS_OPERATOR(!=)
#undef RS_OPERATOR
} // namespace at

#ifdef RS_NEEDS_STD_STREAM
namespace c10 {
template <typename T>
std::ostream& operator<<(std::ostream&, ArrayRef<T>);
std::ostream& operator<<(std::ostream&, const Device&);
std::ostream& operator<<(std::ostream&, DeviceType);
std::ostream& operator<<(std::ostream&, ScalarType);
std::ostream& operator<<(std::ostream&, const Scalar&);
std::ostream& operator<<(std::ostream&, const TensorOptions&);
} // namespace c10
namespace caffe2 {
std::ostream& operator<<(std::ostream&, TypeMeta);
}
namespace at {
std::ostream& operator<<(std::ostream&, const Tensor&);
}
#endif
