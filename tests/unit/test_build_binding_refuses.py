"""What the binding facade does not have does not compile, so that the stock build takes over.

Checked against a few declarations in place of torch's headers, which makes a compile half a
second; that the real headers work is `test_build_binding.py`'s part.
"""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

import pytest

from reward_service.build import toolchain

HEADERS = Path(toolchain.__file__).parent / "headers" / "common"
CXX = toolchain.find_cxx()
TORCH = """
#pragma once
#include <cstdint>
#include <vector>
namespace c10 {
template <class T> struct complex {};
enum DeviceType { kCPU };
struct Device { Device(DeviceType) {} };
struct Half {};
}
namespace at {
using c10::Device; using c10::kCPU;
struct Tensor {}; struct Scalar {}; struct Generator {};
enum class ScalarType { Float }; enum class MemoryFormat { Contiguous };
template <class T> struct ArrayRef { ArrayRef() {} ArrayRef(const std::vector<T>&) {} };
using IntArrayRef = ArrayRef<int64_t>;
}
namespace pybind11 { template <typename, typename...> class class_; }
"""

pytestmark = pytest.mark.skipif(CXX is None, reason="needs a C++ compiler")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("refuses")
    (made / "torch").mkdir()
    (made / "torch" / "types.h").write_text(TORCH)
    return made


def errors(directory: Path, before: str, inside: str) -> str:
    """The compiler's errors about a module, with `before` ahead and `inside` its body."""
    text = f"#include <binding.h>\n{before}\nPYBIND11_MODULE(refused, m) {{\n{inside}\n}}\n"
    source = directory / "refused.cpp"
    source.write_text(text)
    includes = [directory, HEADERS, sysconfig.get_path("include")]
    argv = [str(CXX), "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
    argv += [f"-I{path}" for path in includes]
    done = subprocess.run([*argv, str(source)], capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == ("error" not in done.stderr), done.stderr
    return done.stderr


def test_what_is_supported_compiles_without_warnings(directory: Path) -> None:
    before = """
        at::Tensor f(const at::Tensor& x, std::optional<double> y, std::vector<int> z);
        void g();
    """
    inside = """
        m.doc() = "text";
        m.def("f", &f, "doc", py::arg("x"), py::arg("y") = std::nullopt, py::arg("z"));
        m.def("g", torch::wrap_pybind_function(g), "doc");
        m.def("h", [](int a, bool b) { return b ? a : 0; });
    """
    assert errors(directory, before, inside) == ""


REFUSED = {
    "class": ("struct C {};", 'py::class_<C>(m, "C");'),
    "enum": ("enum E { A };", 'py::enum_<E>(m, "E").value("A", A);'),
    "submodule": ("", 'm.def_submodule("s");'),
    "object argument": ("", 'm.def("f", [](py::object) {});'),
    "list argument": ("", 'm.def("f", [](py::list) {});'),
    "args": ("", 'm.def("f", [](py::args) {});'),
    "own type": ("struct C {};", 'm.def("f", [](C) {});'),
    "own type returned": ("struct C {};", 'm.def("f", [] { return C(); });'),
    "half": ("", 'm.def("f", [](c10::Half) {});'),
    "list of tensors by reference": ("", 'm.def("f", [](at::ArrayRef<at::Tensor>) {});'),
    "pointer": ("", 'm.def("f", [](at::Tensor*) {});'),
    "pointer returned": ("", 'm.def("f", []() -> at::Tensor* { return nullptr; });'),
    "char": ("", 'm.def("f", [](char) {});'),
    "function argument": (
        "#include <functional>",
        'm.def("f", [](std::function<int(int)>) {});',
    ),
    "map": ("#include <map>", 'm.def("f", [](std::map<int, int>) {});'),
    "reference to a tuple": ("", 'm.def("f", [](std::tuple<int>&) {});'),
    "dangling text": ("", 'm.def("f", [](std::optional<const char*>) {});'),
    "dangling sizes": ("", 'm.def("f", [](std::optional<at::IntArrayRef>) {});'),
    "generic lambda": ("", 'm.def("f", [](auto x) { return x; });'),
    "overloaded name": ("int f(int); int f(double);", 'm.def("f", &f);'),
    "member": ("struct C { int f(); };", 'm.def("f", &C::f);'),
    "too few names": ("int f(int, int);", 'm.def("f", &f, py::arg("a"));'),
    "keyword only": ("int f(int);", 'm.def("f", &f, py::kw_only(), py::arg("a"));'),
    "keep alive": ("int f(int);", 'm.def("f", &f, py::keep_alive<0, 1>());'),
    "module import": ("", 'py::module_::import("os");'),
    "python object as value": ("", 'm.attr("x") = py::int_(3);'),
    "own default": ("struct C {};", 'm.def("f", [](int) {}, py::arg("x") = C());'),
    "const function object": (
        "struct C { int operator()(); };",
        'm.def("f", torch::wrap_pybind_function(C()));',
    ),
    "own caster": (
        "struct C {}; namespace pybind11::detail { template <> struct type_caster<C> {}; }",
        "",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_supported_does_not_compile(directory: Path, what: str) -> None:
    assert "error" in errors(directory, *REFUSED[what])
