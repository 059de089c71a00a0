// A small stand-in for the part of pybind11 that kernel submissions use.
//
// It declares pybind11's names (module_, arg, call_guard, ...) and converts arguments through the
// runtime, which is pybind11 itself; see `binding_interface.h`. What it does not declare (class_,
// enum_, object, list, submodules, generic lambdas, pointers, ...) does not compile, and the stock
// build takes over. It must never accept what pybind11 would refuse.
//
// Everything is in an inline namespace, so that no symbol here has the name of a real one.
#pragma once

#include <array>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "binding_interface.h"

#pragma GCC visibility push(hidden)
namespace reward_service::binding {

template <class T>
using bare_t = std::remove_cv_t<std::remove_reference_t<T>>;

// A parameter of type P takes what a converter holds: by value and by && it is moved.
template <class P>
using passed_t = std::conditional_t<std::is_lvalue_reference_v<P>, P, bare_t<P>&&>;

// Owns one reference.
struct Owned {
  PyObject* object = nullptr;
  ~Owned() { Py_XDECREF(object); }
  PyObject* release() { return std::exchange(object, nullptr); }
};

inline PyObject* new_none() {
  return Py_NewRef(Py_None);
}

// --- converters: load(object, convert), get(), cast(value) and type ----------------------------

template <class T, class = void>
struct Converter {
  T value{};
  bool load(PyObject* object, bool convert) { return Leaf<T>::load(object, convert, value); }
  T& get() { return value; }
  static PyObject* cast(const T& value) { return Leaf<T>::cast(value); }
  static constexpr const Type& type = Leaf<T>::type;
};

template <>
struct Converter<at::Device> {
  at::Device value{at::kCPU};
  bool load(PyObject* o, bool convert) { return Leaf<at::Device>::load(o, convert, value); }
  at::Device& get() { return value; }
  static PyObject* cast(const at::Device& value) { return Leaf<at::Device>::cast(value); }
  static constexpr const Type& type = Leaf<at::Device>::type;
};

template <>
struct Converter<at::IntArrayRef> {
  std::vector<int64_t> sizes;
  at::IntArrayRef value;
  bool load(PyObject* object, bool convert) {
    const bool loaded = Leaf<at::IntArrayRef>::load(object, convert, sizes);
    value = sizes;
    return loaded;
  }
  at::IntArrayRef& get() { return value; }
  static PyObject* cast(at::IntArrayRef value) { return Leaf<at::IntArrayRef>::cast(value); }
  static constexpr const Type& type = Leaf<at::IntArrayRef>::type;
};

template <>
struct Converter<const char*> {
  std::string text;
  bool none = false;
  bool load(PyObject* object, bool convert) {
    none = object == Py_None && convert;
    return none || Leaf<std::string>::load(object, convert, text);
  }
  const char* get() { return none ? nullptr : text.c_str(); }
  static PyObject* cast(const char* value) {
    return value == nullptr ? new_none() : Leaf<std::string>::cast(value);
  }
  static constexpr const Type& type = Leaf<std::string>::type;
};

// What may be an element: a converter that is gone must leave nothing dangling.
template <class T>
struct Element : Converter<T> {
  static_assert(
      !std::is_same_v<T, const char*> && !std::is_same_v<T, at::IntArrayRef>,
      "a container of references would outlive what it refers to");
};

struct NothingConverter {
  static PyObject* cast(...) { return new_none(); }
  static constexpr Type type{Type::nothing, nullptr, 0, nullptr};
};
template <>
struct Converter<void> : NothingConverter {};
template <>
struct Converter<std::nullopt_t> : NothingConverter {};
template <>
struct Converter<std::nullptr_t> : NothingConverter {};

template <class T>
struct Converter<std::optional<T>> {
  std::optional<T> value;
  bool load(PyObject* object, bool convert) {
    if (object == Py_None) {
      return true;
    }
    Element<T> inner;
    if (!inner.load(object, convert)) {
      return false;
    }
    value.emplace(static_cast<T&&>(inner.get()));
    return true;
  }
  std::optional<T>& get() { return value; }
  static PyObject* cast(const std::optional<T>& value) {
    return value ? Converter<T>::cast(*value) : new_none();
  }
  static constexpr const Type* parts[] = {&Converter<T>::type};
  static constexpr Type type{Type::optional, nullptr, 1, parts};
};

template <class T, class Container>
bool add_element(void* container, PyObject* object, bool convert) {
  Element<T> inner;
  if (!inner.load(object, convert)) {
    return false;
  }
  static_cast<Container*>(container)->push_back(static_cast<T&&>(inner.get()));
  return true;
}

template <class T, class Container>
PyObject* cast_list(const Container& values) {
  Owned list{PyList_New(static_cast<Py_ssize_t>(values.size()))};
  Py_ssize_t index = 0;
  for (const auto& value : values) {
    PyObject* object = list.object == nullptr ? nullptr : Converter<T>::cast(value);
    if (object == nullptr) {
      return nullptr;
    }
    PyList_SET_ITEM(list.object, index++, object);
  }
  return list.release();
}

template <class T>
struct Converter<std::vector<T>> {
  using Vector = std::vector<T>;
  Vector value;
  static bool begin(void* container, std::size_t size) {
    static_cast<Vector*>(container)->reserve(size);
    return true;
  }
  bool load(PyObject* object, bool convert) {
    return load_sequence(object, convert, {&value, false, begin, add_element<T, Vector>});
  }
  Vector& get() { return value; }
  static PyObject* cast(const Vector& value) { return cast_list<T>(value); }
  static constexpr const Type* parts[] = {&Converter<T>::type};
  static constexpr Type type{Type::vector, nullptr, 1, parts};
};

template <class T, std::size_t N>
struct Converter<std::array<T, N>> {
  using Array = std::array<T, N>;
  using Vector = std::vector<T>;
  std::optional<Array> value;
  static bool begin(void*, std::size_t size) { return size == N; }
  bool load(PyObject* object, bool convert) {
    Vector found;
    if (!load_sequence(object, convert, {&found, true, begin, add_element<T, Vector>}) ||
        found.size() != N) {
      return false;
    }
    fill(found, std::make_index_sequence<N>{});
    return true;
  }
  template <std::size_t... I>
  void fill(Vector& found, std::index_sequence<I...>) {
    value.emplace(Array{{static_cast<T&&>(found[I])...}});
  }
  Array& get() { return *value; }
  static PyObject* cast(const Array& value) { return cast_list<T>(value); }
  static constexpr const Type* parts[] = {&Converter<T>::type};
  static constexpr Type type{Type::array, nullptr, N, parts};
};

template <std::size_t I, class T>
struct Slot {
  Converter<T> converter;
  bool load_element(PyObject* sequence, bool convert) {
    Owned object{element(sequence, I)};
    return converter.load(object.object, convert);
  }
};

template <class Indices, class Tuple, class... T>
struct TupleConverter;

template <std::size_t... I, class Tuple, class... T>
struct TupleConverter<std::index_sequence<I...>, Tuple, T...> : Slot<I, T>... {
  bool load(PyObject* object, bool convert) {
    return has_length(object, sizeof...(T)) &&
        (Slot<I, T>::load_element(object, convert) && ...);
  }
  Tuple get() { return Tuple(static_cast<T&&>(Slot<I, T>::converter.get())...); }
  static PyObject* cast(const Tuple& value) {
    Owned objects[] = {{Converter<T>::cast(std::get<I>(value))}..., {nullptr}};
    Owned tuple{PyTuple_New(sizeof...(T))};
    if (tuple.object == nullptr || ((objects[I].object == nullptr) || ...)) {
      return nullptr;
    }
    (PyTuple_SET_ITEM(tuple.object, I, objects[I].release()), ...);
    return tuple.release();
  }
  static constexpr const Type* parts[] = {&Converter<T>::type..., nullptr};
  static constexpr Type type{Type::tuple, nullptr, sizeof...(T), parts};
};
template <class... T>
struct Converter<std::tuple<T...>>
    : TupleConverter<std::index_sequence_for<T...>, std::tuple<T...>, T...> {};
template <class A, class B>
struct Converter<std::pair<A, B>>
    : TupleConverter<std::index_sequence<0, 1>, std::pair<A, B>, A, B> {};

// --- callables ---------------------------------------------------------------------------------

struct NoGuard {};

// What torch::wrap_pybind_function makes: the callable is called inside torch's error handling.
template <class F, bool ReleaseGil>
struct Wrapped {
  F function;
};

// The signature of a function object, from its only operator().
template <class M>
struct MemberSignature;
#define REWARD_SERVICE_BINDING_MEMBER(QUALIFIERS)     \
  template <class C, class R, class... P>             \
  struct MemberSignature<R (C::*)(P...) QUALIFIERS> { \
    using type = R(P...);                             \
  };
REWARD_SERVICE_BINDING_MEMBER()
REWARD_SERVICE_BINDING_MEMBER(const)
REWARD_SERVICE_BINDING_MEMBER(noexcept)
REWARD_SERVICE_BINDING_MEMBER(const noexcept)
#undef REWARD_SERVICE_BINDING_MEMBER

// `type`: the signature of a callable F.
template <class F>
struct SignatureOf : MemberSignature<decltype(&F::operator())> {};
template <class R, class... P>
struct SignatureOf<R (*)(P...)> {
  using type = R(P...);
};
template <class R, class... P>
struct SignatureOf<R (*)(P...) noexcept> {
  using type = R(P...);
};

// How a callable F is kept behind a pointer, and called as an `As`.
template <class F, class As = F>
struct Kept {
  static void* keep(F&& function) { return new F(static_cast<F&&>(function)); }
  static void destroy(void* kept) { delete static_cast<F*>(kept); }
  static constexpr void (*destroyer)(void*) = destroy;
  static As& get(void* kept) { return *static_cast<F*>(kept); }
};
template <class R, class... P, class As>
struct Kept<R (*)(P...), As> {
  static void* keep(R (*function)(P...)) { return reinterpret_cast<void*>(function); }
  static constexpr void (*destroyer)(void*) = nullptr;
  static auto get(void* kept) { return reinterpret_cast<R (*)(P...)>(kept); }
};

// Calls `call` for its result, as it is or inside torch's error handling.
template <class R>
struct Plainly {
  template <class Call>
  static R run(const Call& call) {
    return call();
  }
};
template <class R, bool ReleaseGil>
struct Guardedly {
  template <class Call>
  static R run(const Call& call) {
    if constexpr (std::is_void_v<R>) {
      call_guarded([](const void* c) { (*static_cast<const Call*>(c))(); }, &call, ReleaseGil);
    } else {
      std::optional<R> result;
      const auto body = [&] { result.emplace(call()); };
      call_guarded(
          [](const void* b) { (*static_cast<decltype(&body)>(b))(); }, &body, ReleaseGil);
      return *std::move(result);
    }
  }
};

// How the runtime calls a callable that is kept by K, in the manner of M.
template <class K, class M, class Guard, class Indices, class R, class... P>
struct Caller;

template <class K, class M, class Guard, std::size_t... I, class R, class... P>
struct Caller<K, M, Guard, std::index_sequence<I...>, R, P...> {
  static_assert(sizeof...(P) <= max_arguments);
  struct Slots : Slot<I, bare_t<P>>... {};

  static PyObject* invoke(
      void* kept,
      [[maybe_unused]] PyObject* const* arguments,
      [[maybe_unused]] std::uint64_t convert) {
    [[maybe_unused]] Slots slots;
    if (!(static_cast<Slot<I, bare_t<P>>&>(slots).converter.load(
              arguments[I], (convert >> I & 1) != 0) &&
          ...)) {
      return try_next_overload();
    }
    const auto call = [&]() -> R {
      [[maybe_unused]] Guard guard;
      return K::get(kept)(
          static_cast<passed_t<P>>(static_cast<Slot<I, bare_t<P>>&>(slots).converter.get())...);
    };
    if constexpr (std::is_void_v<R>) {
      M::run(call);
      return new_none();
    } else {
      return Converter<bare_t<R>>::cast(M::run(call));
    }
  }

  static constexpr const Type* parameters[] = {&Converter<bare_t<P>>::type..., nullptr};

  static void describe(Definition& definition) {
    definition.invoke = invoke;
    definition.destroy = K::destroyer;
    definition.result = &Converter<bare_t<R>>::type;
    definition.parameters = parameters;
    definition.parameter_count = sizeof...(P);
  }
};

// The caller of a callable F under a guard, and what keeps F.
template <class F, class Guard, class S = typename SignatureOf<F>::type>
struct Binding;
template <class F, class Guard, class R, class... P>
struct Binding<F, Guard, R(P...)>
    : Caller<Kept<F>, Plainly<R>, Guard, std::index_sequence_for<P...>, R, P...> {
  static void* keep(F&& function) { return Kept<F>::keep(static_cast<F&&>(function)); }
};

template <class F, bool ReleaseGil>
struct SignatureOf<Wrapped<F, ReleaseGil>> : SignatureOf<F> {};
template <class F, bool ReleaseGil, class Guard, class R, class... P>
struct Binding<Wrapped<F, ReleaseGil>, Guard, R(P...)>
    : Caller<
          Kept<F, const F>,
          Guardedly<std::decay_t<R>, ReleaseGil>,
          Guard,
          std::index_sequence_for<P...>,
          R,
          P...> {
  static void* keep(Wrapped<F, ReleaseGil>&& wrapped) {
    return Kept<F>::keep(static_cast<F&&>(wrapped.function));
  }
};

}  // namespace reward_service::binding

// --- the names that candidates use ---------------------------------------------------------------

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
