// The heavy half of `common/binding.h`, compiled once per toolchain and linked into each module.
//
// It gives functions bound through the facade to the pybind11 that torch bundles, with torch's
// own casters: the dispatcher, the overload passes, the errors and the docstrings are theirs.
// Compile it with the flags of a stock extension, so that its pybind11 is the one that
// libtorch_python shares its exception translators with.
#include "../common/binding_interface.h"

#include <array>
#include <new>
#include <optional>
#include <tuple>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

namespace reward_service::binding {
namespace {

// --- signatures ----------------------------------------------------------------------------

std::string replaced(std::string text, const std::string& old, const std::string& with) {
  const auto at = text.find(old);
  return at == std::string::npos ? text : text.replace(at, old.size(), with);
}

// pybind11's description of a type around at::Tensor, with `inner` in the tensor's place.
template <class AroundTensor>
std::string around(const std::string& inner) {
  return replaced(py::detail::make_caster<AroundTensor>::name.text, "torch.Tensor", inner);
}

std::string described(const Type& type) {
  std::string inner;
  for (std::size_t i = 0; i < type.size && type.kind == Type::tuple; ++i) {
    inner += (i == 0 ? "" : ", ") + described(*type.parts[i]);
  }
  switch (type.kind) {
    case Type::leaf:
      return type.name;
    case Type::nothing:
      return py::detail::make_caster<py::detail::void_type>::name.text;
    case Type::optional:
      return around<std::optional<at::Tensor>>(described(*type.parts[0]));
    case Type::vector:
      return around<std::vector<at::Tensor>>(described(*type.parts[0]));
    case Type::array:
      return replaced(
          around<std::array<at::Tensor, 1>>(described(*type.parts[0])),
          "(1)",
          "(" + std::to_string(type.size) + ")");
    case Type::tuple:
      return type.size == 0 ? py::detail::make_caster<std::tuple<>>::name.text
                            : around<std::tuple<at::Tensor>>(inner);
  }
  return "?";
}

// In the notation that pybind11 makes its signatures from.
std::string described(const Definition& definition) {
  std::string text = "(";
  for (std::size_t i = 0; i < definition.parameter_count; ++i) {
    text += (i == 0 ? "{" : ", {") + described(*definition.parameters[i]) + "}";
  }
  return text + ") -> " + described(*definition.result);
}

// --- functions -----------------------------------------------------------------------------

// A pybind11 function whose `impl` is ours; the record's three words of data hold what it needs.
class Function : public py::cpp_function {
 public:
  Function(py::handle module, const Definition& definition) {
    auto record = make_function_record();
    py::detail::function_record* r = record.get();
    r->data[0] = reinterpret_cast<void*>(definition.invoke);
    r->data[1] = definition.callable;
    r->data[2] = reinterpret_cast<void*>(definition.destroy);
    if (definition.destroy != nullptr) {
      r->free_data = [](py::detail::function_record* freed) {
        reinterpret_cast<void (*)(void*)>(freed->data[2])(freed->data[1]);
      };
    }
    r->impl = dispatch;
    r->nargs_pos = static_cast<std::uint16_t>(definition.parameter_count);
    r->name = const_cast<char*>(definition.name);
    r->doc = const_cast<char*>(definition.doc);
    r->scope = module;
    py::object sibling = py::getattr(module, definition.name, py::none());
    r->sibling = sibling;
    for (std::size_t i = 0; i < definition.argument_count; ++i) {
      annotate(definition.arguments[i], r);
    }
    static const std::type_info* const no_types[] = {nullptr};
    initialize_generic(
        std::move(record), described(definition).c_str(), no_types, definition.parameter_count);
  }

 private:
  static void annotate(const Argument& argument, py::detail::function_record* r) {
    py::arg plain(argument.name);
    plain.noconvert(!argument.convert).none(argument.none);
    if (!argument.has_default) {
      py::detail::process_attribute<py::arg>::init(plain, r);
    } else {
      py::arg_v with_default(plain, py::handle(argument.value));
      py::detail::process_attribute<py::arg_v>::init(with_default, r);
    }
  }

  static py::handle dispatch(py::detail::function_call& call) {
    std::uint64_t convert = 0;
    for (std::size_t i = 0; i < call.func.nargs; ++i) {
      convert |= std::uint64_t{call.args_convert[i]} << i;
    }
    static_assert(std::is_standard_layout_v<py::handle> && sizeof(py::handle) == sizeof(PyObject*));
    const auto* arguments = reinterpret_cast<PyObject* const*>(call.args.data());
    return reinterpret_cast<Invoke>(call.func.data[0])(call.func.data[1], arguments, convert);
  }
};

bool is_sequence_of_elements(py::handle object) {
#if PYBIND11_VERSION_HEX >= 0x03000000
  return py::detail::object_is_convertible_to_std_vector(object);
#else
  return py::isinstance<py::sequence>(object) && !py::isinstance<py::bytes>(object) &&
      !py::isinstance<py::str>(object);
#endif
}

template <class T>
void assign(T& into, T&& from) {
  into = std::move(from);
}
void assign(std::vector<int64_t>& into, at::IntArrayRef from) {
  into.assign(from.begin(), from.end());
}

}  // namespace

#define REWARD_SERVICE_BINDING_LEAF(T)                                                       \
  const Type Leaf<T>::type{Type::leaf, py::detail::make_caster<T>::name.text, 0, nullptr};   \
  bool Leaf<T>::load(PyObject* object, bool convert, Loaded<T>::type& into) {                \
    py::detail::make_caster<T> caster;                                                       \
    if (!caster.load(object, convert)) {                                                     \
      return false;                                                                          \
    }                                                                                        \
    assign(into, py::detail::cast_op<T&&>(std::move(caster)));                               \
    return true;                                                                             \
  }                                                                                          \
  PyObject* Leaf<T>::cast(const T& value) {                                                  \
    return py::detail::make_caster<T>::cast(value, py::return_value_policy::move, {}).ptr(); \
  }

REWARD_SERVICE_BINDING_LEAVES(REWARD_SERVICE_BINDING_LEAF)

bool load_sequence(PyObject* object, bool convert, const Sink& sink) {
  if (!is_sequence_of_elements(object)) {
    return false;
  }
  auto elements = py::reinterpret_borrow<py::object>(object);
  if (!py::isinstance<py::sequence>(elements)) {
    if (!convert) {
      return false;
    }
    elements = py::tuple(elements);  // exhausts an iterator, even where an element does not fit
  }
  const std::size_t size = py::len(elements);
  if (!sink.begin(sink.container, size)) {
    return false;
  }
  const auto add = [&](py::handle element) {
    return sink.add(sink.container, element.ptr(), convert);
  };
  PyObject* list = elements.ptr();
  if (PyTuple_CheckExact(list) || (PyList_CheckExact(list) && !sink.indexed)) {
    for (Py_ssize_t i = 0; i < Py_SIZE(list); ++i) {  // as their iterators do, but faster
      if (!add(py::reinterpret_borrow<py::object>(PySequence_Fast_GET_ITEM(list, i)))) {
        return false;
      }
    }
    return true;
  }
  if (sink.indexed) {
    for (std::size_t i = 0; i < size; ++i) {
      if (!add(py::reinterpret_steal<py::object>(element(list, i)))) {
        return false;
      }
    }
    return true;
  }
  for (py::handle element : elements) {
    if (!add(element)) {
      return false;
    }
  }
  return true;
}

bool has_length(PyObject* object, std::size_t size) {
  return py::isinstance<py::sequence>(object) &&
      py::reinterpret_borrow<py::sequence>(object).size() == size;
}

PyObject* element(PyObject* sequence, std::size_t index) {
  PyObject* found = PySequence_GetItem(sequence, static_cast<Py_ssize_t>(index));
  if (found == nullptr) {
    throw py::error_already_set();
  }
  return found;
}

void define(PyObject* module, const Definition& definition) {
  auto m = py::reinterpret_borrow<py::module_>(module);
  m.add_object(definition.name, Function(m, definition), /*overwrite=*/true);
}

void set_attribute(PyObject* module, const char* name, PyObject* value) {
  auto object = py::reinterpret_steal<py::object>(value);
  if (!object) {
    throw py::error_already_set();
  }
  py::setattr(module, name, object);
}

int fill_module(PyObject* module, void (*fill)(PyObject* module)) {
  try {
    py::detail::get_internals();
    fill(module);
    return 0;
  } catch (py::error_already_set& e) {
    py::raise_from(e, PyExc_ImportError, "initialization failed");
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_ImportError, e.what());
  }
  return -1;
}

void call_guarded(void (*body)(const void* context), const void* context, bool release_gil) {
  HANDLE_TH_ERRORS
  std::optional<py::gil_scoped_release> released;
  if (release_gil) {
    released.emplace();
  }
  body(context);
  END_HANDLE_TH_ERRORS_PYBIND
}

namespace {
template <class Guard>
void begin(GilState& state) {
  static_assert(sizeof(Guard) <= sizeof(GilState));
  new (state.bytes) Guard();
}
template <class Guard>
void end(GilState& state) {
  std::launder(reinterpret_cast<Guard*>(state.bytes))->~Guard();
}
}  // namespace

void gil_release_begin(GilState& state) {
  begin<py::gil_scoped_release>(state);
}
void gil_release_end(GilState& state) {
  end<py::gil_scoped_release>(state);
}
void gil_acquire_begin(GilState& state) {
  begin<py::gil_scoped_acquire>(state);
}
void gil_acquire_end(GilState& state) {
  end<py::gil_scoped_acquire>(state);
}

}  // namespace reward_service::binding
