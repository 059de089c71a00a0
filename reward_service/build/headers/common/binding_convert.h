// How values cross between Python and C++: one Converter for each type that can be bound.
//
// A converter has load(object, convert), get() for the value as the parameter takes it,
// cast(value) for results, and the type's description. Types without one do not compile.
#pragma once

#include <array>
#include <cstdint>
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

}  // namespace reward_service::binding
#pragma GCC visibility pop
