"""Builds small torch-free programs by the split passes, against a CUDA runtime that only records.

`Program.log` has what the module told the runtime, in order: its registrations when it was
loaded, then each launch that `run()` made, under the name that the stub was registered with.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from reward_service.build import kernels
from reward_service.build.source import transform

HEADERS = Path(kernels.__file__).parent / "headers"
COMPILERS = [name for name in ("clang++-19", "g++") if shutil.which(name)]
NVCC = shutil.which("nvcc")

RECORDER = r"""
#include <map>
#include <string>
#include <cstring>
struct dim3 { unsigned x, y, z; };
static std::string& text() { static std::string it; return it; }
static std::map<const void*, std::string>& names() {
  static std::map<const void*, std::string> it; return it; }
static struct { dim3 grid, block; size_t shared; void* stream; } pushed;
static void add(const std::string& line) { text() += line + "\n"; }
static std::string of(long n) { return " " + std::to_string(n); }
extern "C" {
const char* rs_test_log() { return text().c_str(); }
void** __cudaRegisterFatBinary(void* wrapper) {
  unsigned head[2]; memcpy(head, wrapper, 8);
  const unsigned* image = *reinterpret_cast<unsigned**>(static_cast<char*>(wrapper) + 8);
  add("binary" + of(head[0] == 0x466243b1u && head[1] == 1 && image[0] == 0xba55ed50u));
  return new void*();
}
void __cudaRegisterFatBinaryEnd(void**) { add("end"); }
void __cudaUnregisterFatBinary(void** handle) { delete handle; }
void __cudaRegisterFunction(void**, const char* stub, char*, const char* name, int, void*, void*,
                            void*, void*, int*) {
  names()[stub] = name; add(std::string("kernel ") + name); }
void __cudaRegisterVar(void**, char* shadow, char*, const char* name, int, size_t size,
                       int constant, int) {
  names()[shadow] = name;
  add(std::string("variable ") + name + of(size) + of(constant)); }
unsigned __cudaPushCallConfiguration(dim3 g, dim3 b, size_t shared, void* stream) {
  pushed = {g, b, shared, stream}; return 0; }
int __cudaPopCallConfiguration(dim3* g, dim3* b, size_t* shared, void* stream) {
  *g = pushed.grid; *b = pushed.block; *shared = pushed.shared;
  memcpy(stream, &pushed.stream, sizeof(void*)); return 0; }
int cudaLaunchKernel(const void* stub, dim3 g, dim3 b, void** arguments, size_t shared,
                     void* stream) {
  std::string line = "launch " + names()[stub] + of(g.x) + of(g.y) + of(g.z) + of(b.x) + of(b.y)
                     + of(b.z) + of(shared) + of(reinterpret_cast<long>(stream));
  for (int i = 0; arguments[i]; ++i)
    line += (i ? "," : " | ") + std::to_string(*static_cast<int*>(arguments[i]));
  add(line); return 0; }
int cudaLaunchCooperativeKernel(const void* stub, dim3, dim3, void**, size_t, void*) {
  add("cooperative " + names()[stub]); return 0; }
int cudaFuncSetAttribute(const void* stub, int, int value) {
  add("attribute " + names()[stub] + of(value)); return 0; }
int cudaMemcpyToSymbol(const void* shadow, const void*, size_t count, size_t, int) {
  add("copy " + names()[shadow] + of(count)); return 0; }
}
"""


@dataclass(frozen=True)
class Program:
    """A program that was split, compiled, linked and, if it could be, loaded and run."""

    units: list[kernels.Unit]
    log: list[str]


def command(*words: str | Path) -> None:
    """Runs a compiler; its message is the assertion's where it fails."""
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-4000:]


@cache
def cuda_home() -> Path:
    """Where this machine's nvcc has its headers and libraries."""
    assert NVCC is not None
    shown = subprocess.run(
        [NVCC, "--dryrun", "-x", "cu", "-c", "x.cu"], capture_output=True, text=True
    )
    top = re.search(r"#\$ TOP=(.*)", shown.stderr)
    assert top is not None, shown.stderr
    return Path(top.group(1).strip())


def host_object(compiler: str, folder: Path, text: str, stem: str = "host") -> Path:
    """The host pass over the host text of a source, without a precompiled header."""
    source, made = folder / f"{stem}.cpp", folder / f"{stem}.o"
    source.write_text(text)
    command(
        compiler, "-std=c++17", "-O2", "-fPIC", "-w", "-c", "-isystem", HEADERS / "host",
        "-I", HEADERS / "common", "-isystem", cuda_home() / "include", "-include", "launch.h",
        source, "-o", made,
    )  # fmt: skip
    return made


def fat_binary(folder: Path, text: str, stem: str = "device") -> Path:
    """The device pass over the device text of a source."""
    made = folder / f"{stem}.fatbin"
    made.write_bytes(_fat_binary(text))
    return made


@cache
def _fat_binary(text: str) -> bytes:
    """Kept, since every host compiler gets the same."""
    assert NVCC is not None
    with TemporaryDirectory() as folder:
        source, made = Path(folder, "x.cu"), Path(folder, "x.fatbin")
        source.write_text(text)
        command(
            NVCC, "-std=c++17", "-fatbin", "--no-compress", "--expt-relaxed-constexpr",
            "-gencode=arch=compute_90,code=sm_90", source, "-o", made,
        )  # fmt: skip
        return made.read_bytes()


def build_units(
    compiler: str, folder: Path, *sources: str
) -> tuple[list[kernels.Unit], list[Path]]:
    """Both passes over each source: the matched units, and the objects."""
    units, objects = [], []
    for index, text in enumerate(sources):
        both = transform(text, index)
        fatbin = fat_binary(folder, both.device, f"device{index}")
        objects.append(host_object(compiler, folder, both.host, f"host{index}"))
        units.append(kernels.unit(fatbin.name, fatbin.read_bytes(), objects[-1].read_bytes()))
    return units, objects


def link(compiler: str, folder: Path, units: list[kernels.Unit], *parts: str | Path) -> Path:
    """The module of these units."""
    (folder / "fat.s").write_text(kernels.fatbin_assembly(units))
    made = folder / "module.so"
    command(
        compiler, "-shared", "-fPIC", "-O1", "-w", "-Wl,-z,defs", f"-Wa,-I,{folder}",
        folder / "fat.s", HEADERS / "runtime" / "launch_runtime.cpp", *parts, "-o", made,
    )  # fmt: skip
    return made


def build_and_run(compiler: str, folder: Path, *sources: str) -> Program:
    """Splits, builds, loads and calls `run()` of the first source."""
    units, objects = build_units(compiler, folder, *sources)
    assert kernels.missing(units) == []
    (folder / "recorder.cpp").write_text(RECORDER)
    module = ctypes.CDLL(str(link(compiler, folder, units, *objects, folder / "recorder.cpp")))
    module.run()
    module.rs_test_log.restype = ctypes.c_char_p
    return Program(units, module.rs_test_log().decode().splitlines())
