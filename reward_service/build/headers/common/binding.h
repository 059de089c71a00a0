// A small stand-in for the part of pybind11 that kernel submissions use.
//
// It declares pybind11's names (module_, arg, call_guard, ...) and converts arguments through the
// runtime, which is pybind11 itself; see `binding_interface.h`. What it does not declare (class_,
// enum_, object, list, submodules, generic lambdas, pointers, ...) does not compile, and the stock
// build takes over. It must never accept what pybind11 would refuse.
//
// Everything is in an inline namespace, so that no symbol here has the name of a real one.
#pragma once

#include "binding_call.h"

#pragma GCC visibility push(hidden)

namespace pybind11 {
inline namespace reward_service_facade {
namespace binding = ::reward_service::binding;

class gil_scoped_release {
 public:
  gil_scoped_release() { binding::gil_release_begin(state_); }
  ~gil_scoped_release() { binding::gil_release_end(state_); }
  gil_scoped_release(const gil_scoped_release&) = delete;
  gil_scoped_release& operator=(const gil_scoped_release&) = delete;

 private:
  binding::GilState state_;
};

class gil_scoped_acquire {
 public:
  gil_scoped_acquire() { binding::gil_acquire_begin(state_); }
  ~gil_scoped_acquire() { binding::gil_acquire_end(state_); }
  gil_scoped_acquire(const gil_scoped_acquire&) = delete;
  gil_scoped_acquire& operator=(const gil_scoped_acquire&) = delete;

 private:
  binding::GilState state_;
};

// Values of ours never point into others, so the policy of a result changes nothing.
enum class return_value_policy : unsigned char {
  automatic,
  automatic_reference,
  take_ownership,
  copy,
  move,
  reference,
  reference_internal
};

template <class Guard = binding::NoGuard>
struct call_guard {};

struct none {};

struct doc {
  const char* value;
  explicit doc(const char* text) : value(text) {}
};

struct arg_v;

struct arg {
  const char* name;
  bool flag_noconvert = false;
  bool flag_none = true;
  constexpr explicit arg(const char* argument_name = nullptr) : name(argument_name) {}
  arg& noconvert(bool flag = true) {
    flag_noconvert = flag;
    return *this;
  }
  arg& none(bool flag = true) {
    flag_none = flag;
    return *this;
  }
  template <class T>
  arg_v operator=(T&& value) const;
};

struct arg_v : arg {
  binding::Owned value;
  template <class T>
  arg_v(const arg& base, T&& given)
      : arg(base), value{binding::Converter<std::decay_t<T>>::cast(given)} {}
  arg_v(const arg_v&) = delete;
  arg_v& operator=(const arg_v&) = delete;
  arg_v& noconvert(bool flag = true) {
    arg::noconvert(flag);
    return *this;
  }
  arg_v& none(bool flag = true) {
    arg::none(flag);
    return *this;
  }
};

template <class T>
arg_v arg::operator=(T&& value) const {
  return arg_v(*this, static_cast<T&&>(value));
}

namespace literals {
constexpr arg operator""_a(const char* name, std::size_t) {
  return arg(name);
}
}  // namespace literals
using namespace literals;

template <class... P>
struct overload_cast_of {
  template <class R>
  constexpr auto operator()(R (*function)(P...)) const -> R (*)(P...) {
    return function;
  }
};
template <class... P>
inline constexpr overload_cast_of<P...> overload_cast{};

class attribute {
 public:
  attribute(PyObject* module, const char* name) : module_(module), name_(name) {}
  attribute(const attribute&) = delete;
  template <class T>
  void operator=(T&& value) && {
    binding::set_attribute(module_, name_, binding::Converter<std::decay_t<T>>::cast(value));
  }

 private:
  PyObject* module_;
  const char* name_;
};

template <class... X>
struct guard_in {
  using type = binding::NoGuard;
};
template <class X, class... More>
struct guard_in<X, More...> : guard_in<More...> {};
template <class G, class... More>
struct guard_in<call_guard<G>, More...> {
  using type = G;
};

class module_ {
 public:
  explicit module_(PyObject* module) : object_(module) {}
  module_(const module_&) = delete;
  module_& operator=(const module_&) = delete;

  template <class Function, class... Extra>
  module_& def(const char* name, Function&& function, const Extra&... extra) {
    using F = std::decay_t<Function>;
    using Binding = binding::Binding<F, typename guard_in<Extra...>::type>;
    constexpr std::size_t named = (std::size_t{0} + ... + std::is_base_of_v<arg, Extra>);
    static_assert(
        named == 0 || named == std::size(Binding::parameters) - 1,
        "the number of py::arg does not match the number of parameters");
    binding::Argument arguments[named + 1];
    binding::Definition definition{};
    definition.name = name;
    definition.arguments = arguments;
    Binding::describe(definition);
    (annotate(definition, arguments, extra), ...);
    definition.callable = Binding::keep(F(static_cast<Function&&>(function)));
    binding::define(object_, definition);
    return *this;
  }

  attribute attr(const char* name) { return {object_, name}; }
  attribute doc() { return {object_, "__doc__"}; }

 private:
  using Definition = binding::Definition;
  using Argument = binding::Argument;
  static void annotate(Definition& d, Argument*, const char* text) { d.doc = text; }
  static void annotate(Definition& d, Argument*, const pybind11::doc& text) { d.doc = text.value; }
  static void annotate(Definition&, Argument*, return_value_policy) {}
  template <class G>
  static void annotate(Definition&, Argument*, const call_guard<G>&) {}
  static void annotate(Definition& d, Argument* arguments, const arg& a) {
    arguments[d.argument_count++] = {a.name, false, nullptr, !a.flag_noconvert, a.flag_none};
  }
  static void annotate(Definition& d, Argument* arguments, const arg_v& a) {
    arguments[d.argument_count++] = {a.name, true, a.value.object, !a.flag_noconvert, a.flag_none};
  }

  PyObject* object_;
};
using module = module_;

}  // namespace reward_service_facade
}  // namespace pybind11

template <>
struct reward_service::binding::Converter<pybind11::none> : NothingConverter {};

namespace torch {

template <class F>
::reward_service::binding::Wrapped<std::decay_t<F>, false> wrap_pybind_function(F&& function) {
  return {static_cast<F&&>(function)};
}

template <class F>
::reward_service::binding::Wrapped<std::decay_t<F>, true> wrap_pybind_function_no_gil(
    F&& function) {
  return {static_cast<F&&>(function)};
}

}  // namespace torch
#pragma GCC visibility pop

namespace py = pybind11;

#define REWARD_SERVICE_BINDING_JOINED(a, b) a##b
#define REWARD_SERVICE_BINDING_JOIN(a, b) REWARD_SERVICE_BINDING_JOINED(a, b)
#define REWARD_SERVICE_BINDING_QUOTED(a) #a
#define REWARD_SERVICE_BINDING_QUOTE(a) REWARD_SERVICE_BINDING_QUOTED(a)

#define PYBIND11_MODULE(name, variable)                                                        \
  static void REWARD_SERVICE_BINDING_JOIN(reward_service_fill_, name)(::pybind11::module_&);   \
  static int REWARD_SERVICE_BINDING_JOIN(reward_service_exec_, name)(PyObject * module) {      \
    return ::reward_service::binding::fill_module(module, [](PyObject* filled) {               \
      ::pybind11::module_ facade(filled);                                                      \
      REWARD_SERVICE_BINDING_JOIN(reward_service_fill_, name)(facade);                         \
    });                                                                                        \
  }                                                                                            \
  extern "C" __attribute__((visibility("default"))) PyObject* REWARD_SERVICE_BINDING_JOIN(     \
      PyInit_, name)();                                                                        \
  PyObject* REWARD_SERVICE_BINDING_JOIN(PyInit_, name)() {                                     \
    static PyModuleDef_Slot slots[] = {                                                        \
        {Py_mod_exec,                                                                          \
         reinterpret_cast<void*>(&REWARD_SERVICE_BINDING_JOIN(reward_service_exec_, name))},   \
        {0, nullptr}};                                                                         \
    static PyModuleDef definition = {                                                          \
        PyModuleDef_HEAD_INIT, REWARD_SERVICE_BINDING_QUOTE(name), nullptr, 0, nullptr, slots, \
        nullptr, nullptr, nullptr};                                                            \
    return PyModuleDef_Init(&definition);                                                      \
  }                                                                                            \
  static void REWARD_SERVICE_BINDING_JOIN(reward_service_fill_, name)(                         \
      ::pybind11::module_ & variable)
