// The checking macros: their conditions and arguments are type-checked, nothing more.
#pragma once
#include <rs/std.h>
#include <c10/macros/Macros.h>

namespace rs {
template <class... A>
[[noreturn]] void fail(const A&...);
template <class... A>
void warn(const A&...);
} // namespace rs

#ifdef RS_NEEDS_STD_STRING
namespace c10 {
template <class... A>
std::string str(const A&...);
class Error : public std::exception {
 public:
  template <class... A>
  explicit Error(const A&...);
  const char* what() const noexcept override;
  const char* what_without_backtrace() const noexcept;
  const std::string& msg() const;
};
struct IndexError : Error { using Error::Error; };
struct ValueError : Error { using Error::Error; };
struct TypeError : Error { using Error::Error; };
struct NotImplementedError : Error { using Error::Error; };
struct OutOfMemoryError : Error { using Error::Error; };
} // namespace c10
#endif

#define RS_CHECK(cond, ...) \
  if (!(cond)) { \
    ::rs::fail(__VA_ARGS__); \
  }
#define C10_UNLIKELY_OR_CONST(e) e
#define STD_TORCH_CHECK(cond, ...) RS_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK(cond, ...) RS_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_WITH(error, cond, ...) RS_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_INDEX(cond, ...) RS_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_VALUE(cond, ...) RS_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_TYPE(cond, ...) RS_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_LINALG(cond, ...) RS_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(cond, ...) RS_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_ARG(cond, n, ...) RS_CHECK(cond, ##__VA_ARGS__)
#define TORCH_CHECK_IF_NOT_ON_CUDA(cond, ...)
#define TORCH_INTERNAL_ASSERT(cond, ...) RS_CHECK(cond, ##__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) \
  while (false) \
  RS_CHECK(__VA_ARGS__)
#define RS_CHECK_OP(a, b, op) \
  if (!((a)op(b))) { \
    ::rs::fail(a, b); \
  }
#define TORCH_CHECK_EQ(a, b) RS_CHECK_OP(a, b, ==)
#define TORCH_CHECK_NE(a, b) RS_CHECK_OP(a, b, !=)
#define TORCH_CHECK_LE(a, b) RS_CHECK_OP(a, b, <=)
#define TORCH_CHECK_LT(a, b) RS_CHECK_OP(a, b, <)
#define TORCH_CHECK_GE(a, b) RS_CHECK_OP(a, b, >=)
#define TORCH_CHECK_GT(a, b) RS_CHECK_OP(a, b, >)
#define TORCH_WARN(...) ::rs::warn(__VA_ARGS__);
#define TORCH_WARN_ONCE(...) ::rs::warn(__VA_ARGS__);
#define AT_ASSERT(...) RS_CHECK(__VA_ARGS__)
#define AT_ASSERTM(cond, ...) RS_CHECK(cond, ##__VA_ARGS__)
#define AT_ERROR(...) \
  do { \
    ::rs::fail(__VA_ARGS__); \
  } while (false)
