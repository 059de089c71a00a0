// ScalarType and its mapping to C++ types, as AT_DISPATCH and at::Tensor need them.
#pragma once
#include <rs/std.h>
#include <rs/number_types.h>

#define RS_DUMMY_INTEGERS(_, prefix, Name) \
  _(prefix<1>, Name##1) _(prefix<2>, Name##2) _(prefix<3>, Name##3) _(prefix<4>, Name##4) \
  _(prefix<5>, Name##5) _(prefix<6>, Name##6) _(prefix<7>, Name##7)
// In the order of the real enumeration.
#define RS_SCALAR_TYPES(_) \
  _(uint8_t, Byte) _(int8_t, Char) _(int16_t, Short) _(int, Int) _(int64_t, Long) \
  _(c10::Half, Half) _(float, Float) _(double, Double) \
  _(c10::complex<c10::Half>, ComplexHalf) _(c10::complex<float>, ComplexFloat) \
  _(c10::complex<double>, ComplexDouble) _(bool, Bool) _(c10::qint8, QInt8) \
  _(c10::quint8, QUInt8) _(c10::qint32, QInt32) _(c10::BFloat16, BFloat16) \
  _(c10::quint4x2, QUInt4x2) _(c10::quint2x4, QUInt2x4) _(c10::bits1x8, Bits1x8) \
  _(c10::bits2x4, Bits2x4) _(c10::bits4x2, Bits4x2) _(c10::bits8, Bits8) _(c10::bits16, Bits16) \
  _(c10::Float8_e5m2, Float8_e5m2) _(c10::Float8_e4m3fn, Float8_e4m3fn) \
  _(c10::Float8_e5m2fnuz, Float8_e5m2fnuz) _(c10::Float8_e4m3fnuz, Float8_e4m3fnuz) \
  _(uint16_t, UInt16) _(uint32_t, UInt32) _(uint64_t, UInt64) \
  RS_DUMMY_INTEGERS(_, c10::dummy_uint1_7_t, UInt) RS_DUMMY_INTEGERS(_, c10::dummy_int1_7_t, Int) \
  _(c10::Float8_e8m0fnu, Float8_e8m0fnu) _(c10::Float4_e2m1fn_x2, Float4_e2m1fn_x2)

namespace c10 {
template <unsigned int N>
struct dummy_uint1_7_t {};
template <unsigned int N>
struct dummy_int1_7_t {};

enum class ScalarType : int8_t {
#define RS_NAME(_, name) name,
  RS_SCALAR_TYPES(RS_NAME)
#undef RS_NAME
  Undefined,
  NumOptions
};
#define RS_CONSTANT(_, name) constexpr ScalarType k##name = ScalarType::name;
RS_SCALAR_TYPES(RS_CONSTANT)
#undef RS_CONSTANT

template <typename T>
struct CppTypeToScalarType;
namespace impl {
template <ScalarType N>
struct ScalarTypeToCPPType;
template <ScalarType N>
using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<N>::type;
} // namespace impl
#define RS_MAP(cpp, name) \
  template <> \
  struct CppTypeToScalarType<cpp> : std::integral_constant<ScalarType, ScalarType::name> {}; \
  template <> \
  struct impl::ScalarTypeToCPPType<ScalarType::name> { \
    using type = cpp; \
    static type t; \
  };
RS_SCALAR_TYPES(RS_MAP)
#undef RS_MAP

const char* toString(ScalarType);
size_t elementSize(ScalarType);
bool isIntegralType(ScalarType, bool include_bool);
bool isFloatingType(ScalarType);
bool isReducedFloatingType(ScalarType);
bool isComplexType(ScalarType);
bool isFloat8Type(ScalarType);
bool isQIntType(ScalarType);
bool isSignedType(ScalarType);
bool canCast(ScalarType from, ScalarType to);
ScalarType promoteTypes(ScalarType, ScalarType);
ScalarType toUnderlying(ScalarType);
ScalarType toRealValueType(ScalarType);
ScalarType toComplexType(ScalarType);
ScalarType get_default_dtype_as_scalartype();
} // namespace c10

namespace torch::headeronly {
using c10::CppTypeToScalarType;
using c10::isQIntType;
using c10::ScalarType;
using c10::toString;
using c10::toUnderlying;
namespace impl {
using c10::impl::ScalarTypeToCPPTypeT;
}
} // namespace torch::headeronly

// ATen/OpMathType.h lists the types for a host function of its own, which nobody compiles here. A
// candidate that makes kernels by this list gets none, and the stock build.
#define AT_FORALL_SCALAR_TYPES_WITH_COMPLEX(_)
