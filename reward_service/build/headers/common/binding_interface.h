// What a bound function's translation unit and the runtime object say to each other.
//
// The facade (`binding.h`) is compiled with every candidate and must be light; the runtime
// (`runtime/binding_runtime.cpp`) is compiled once per toolchain and hands everything to the
// pybind11 that torch bundles. So which values are accepted, what an error says and how overloads
// are chosen is not imitated here: it is pybind11's own code, called through this interface.
//
// All of it is hidden: each module has its own runtime, and no two of them share state.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <torch/types.h>

// The types whose conversion is one call into the runtime. `char`, `long double` and 128-bit
// integers are not among them: no kernel's binding uses them.
#define REWARD_SERVICE_BINDING_LEAVES(X)                                                   \
  X(bool)                                                                                  \
  X(signed char) X(unsigned char) X(short) X(unsigned short) X(int) X(unsigned int)        \
  X(long) X(unsigned long) X(long long) X(unsigned long long) X(float) X(double)           \
  X(std::string) X(std::string_view) X(c10::complex<float>) X(c10::complex<double>)        \
  X(at::Tensor) X(at::Scalar) X(at::ScalarType) X(at::Device) X(at::MemoryFormat)          \
  X(at::Generator) X(at::IntArrayRef)

#pragma GCC visibility push(hidden)
namespace reward_service::binding {

// A bound type as a tree, for the signature in docstrings and errors.
struct Type {
  enum Kind : unsigned char { leaf, nothing, optional, vector, array, tuple };
  Kind kind;
  const char* name;          // leaf: as pybind11 describes it
  std::size_t size;          // array: its length; tuple: the number of its parts
  const Type* const* parts;  // what it is made of
};

// What an argument of type T is loaded into; it outlives the call.
template <class T>
struct Loaded {
  using type = T;
};
template <>
struct Loaded<at::IntArrayRef> {
  using type = std::vector<int64_t>;
};

// `load`: false, with no Python error set, where the object is not acceptable.
// `cast`: a new reference, or null with a Python error set.
// Both may throw what pybind11 throws.
template <class T>
struct Leaf;
#define REWARD_SERVICE_BINDING_LEAF(T)                                       \
  template <>                                                                \
  struct Leaf<T> {                                                           \
    static bool load(PyObject* object, bool convert, Loaded<T>::type& into); \
    static PyObject* cast(const T& value);                                   \
    static const Type type;                                                  \
  };
REWARD_SERVICE_BINDING_LEAVES(REWARD_SERVICE_BINDING_LEAF)
#undef REWARD_SERVICE_BINDING_LEAF

// A container that is filled from a Python sequence. Both functions answer whether to go on.
struct Sink {
  void* container;
  bool indexed;  // read by index, as pybind11 does for arrays, or iterated
  bool (*begin)(void* container, std::size_t size);
  bool (*add)(void* container, PyObject* element, bool convert);
};
bool load_sequence(PyObject* object, bool convert, const Sink& sink);

// Whether the object is a sequence of exactly `size` elements; a new reference to one of them.
bool has_length(PyObject* object, std::size_t size);
PyObject* element(PyObject* sequence, std::size_t index);

// Answered by `Invoke` where the arguments do not fit.
inline PyObject* try_next_overload() {
  return reinterpret_cast<PyObject*>(1);
}
// Bit i of `convert`: whether argument i may be converted.
using Invoke = PyObject* (*)(void* callable, PyObject* const* arguments, std::uint64_t convert);
constexpr std::size_t max_arguments = 64;

struct Argument {
  const char* name;  // null: positional only
  bool has_default;
  PyObject* value;   // borrowed; null: no Python object could be made of the default
  bool convert;
  bool none;
};

struct Definition {
  const char* name;
  const char* doc;
  Invoke invoke;
  void* callable;
  void (*destroy)(void* callable);  // null: nothing to destroy
  const Type* result;
  const Type* const* parameters;
  std::size_t parameter_count;
  const Argument* arguments;
  std::size_t argument_count;  // 0, or one for each parameter
};
void define(PyObject* module, const Definition& definition);

// Takes over the reference `value`.
void set_attribute(PyObject* module, const char* name, PyObject* value);

// Fills the module: 0, or -1 with an ImportError set.
int fill_module(PyObject* module, void (*fill)(PyObject* module));

// Calls `body` as torch::wrap_pybind_function does: C++ errors and warnings become torch's.
void call_guarded(void (*body)(const void* context), const void* context, bool release_gil);

// Room for pybind11's own guards.
struct GilState {
  alignas(std::max_align_t) unsigned char bytes[32];
};
void gil_release_begin(GilState&);
void gil_release_end(GilState&);
void gil_acquire_begin(GilState&);
void gil_acquire_end(GilState&);

}  // namespace reward_service::binding
#pragma GCC visibility pop
