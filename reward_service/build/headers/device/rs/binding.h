// pybind11, as far as a PYBIND11_MODULE beside kernels uses it.
#pragma once
#include <rs/torch.h>

namespace pybind11 {
struct arg_v {};
struct arg {
  constexpr explicit arg(const char* = nullptr);
  arg& noconvert(bool = true);
  arg& none(bool = true);
  template <typename T>
  arg_v operator=(T&&) const;
};
namespace literals {
arg operator""_a(const char*, size_t);
}
struct none {};
struct doc {
  explicit doc(const char*);
};
struct name {
  explicit name(const char*);
};
struct gil_scoped_release {
  gil_scoped_release();
  ~gil_scoped_release();
};
struct gil_scoped_acquire {
  gil_scoped_acquire();
  ~gil_scoped_acquire();
};
template <typename... T>
struct call_guard {};
enum class return_value_policy {
  automatic, automatic_reference, take_ownership, copy, move, reference, reference_internal
};
struct rs_accessor {
  template <typename T>
  void operator=(T&&) &&;
};
class module_ {
 public:
  template <typename F, typename... A>
  module_& def(const char*, F&&, const A&...);
  rs_accessor attr(const char*);
  const char*& doc();
};
using module = module_;
template <typename... A>
struct rs_overload {
  template <typename R>
  constexpr auto operator()(R (*f)(A...)) const { return f; }
};
template <typename... A>
constexpr rs_overload<A...> overload_cast{};
template <typename... A>
struct rs_init {};
template <typename... A>
rs_init<A...> init();
template <typename T, typename... Options>
class class_ {
 public:
  template <typename... A>
  class_(module_&, const char*, const A&...);
  template <typename... A>
  class_& def(A&&...);
  template <typename... A>
  class_& def_readwrite(const char*, A&&...);
  template <typename... A>
  class_& def_readonly(const char*, A&&...);
};
} // namespace pybind11
namespace py = pybind11;

namespace torch {
// Its only use is as an argument of m.def.
template <typename F>
F wrap_pybind_function(F&&);
} // namespace torch

#define PYBIND11_MODULE(name, m, ...) void RS_JOIN(rs_bind_, name)(::pybind11::module_ & m)
