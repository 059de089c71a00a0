"""Matching the halves of a split build: stubs and variables of objects, kernels of fat binaries."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cuda_split import COMPILERS, NVCC, command, fat_binary
from hypothesis import given, settings
from hypothesis import strategies as st

from reward_service.build import kernels
from reward_service.build.elf import Image, MalformedError

needs_compiler = pytest.mark.skipif(not COMPILERS, reason="needs a C++ compiler")
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="needs nvcc")

HOST = r"""
extern "C" int __cudaPopCallConfiguration(void*);
#define KERNEL __attribute__((noinline))
KERNEL void k(int n) { __cudaPopCallConfiguration(&n); }
template <typename T> KERNEL void t(T n) { __cudaPopCallConfiguration(&n); }
static KERNEL void s(int n) { __cudaPopCallConfiguration(&n); }
__attribute__((section(".bss.rs_variables"))) float table[8];
__attribute__((section("rs_variables"))) int set = 3;
int elsewhere[4];
void go() { k(1); t(2.0f); s(3); }
"""
DEVICE = r"""
__global__ void k(int n) {}
template <typename T> __global__ void t(T n) {}
template __global__ void t<float>(float n);
__constant__ float table[8];
__device__ int set = 3;
"""


@cache
def host_object(compiler: str) -> bytes:
    with TemporaryDirectory() as folder:
        source = Path(folder, "host.cpp")
        source.write_text(HOST)
        command(compiler, "-O2", "-fPIC", "-w", "-c", source, "-o", Path(folder, "host.o"))
        return Path(folder, "host.o").read_bytes()


@cache
def fatbin() -> bytes:
    with TemporaryDirectory() as folder:
        return fat_binary(Path(folder), DEVICE).read_bytes()


@needs_nvcc
def test_a_fat_binary_s_kernels_and_variables_are_read() -> None:
    assert kernels.device_side(fatbin()) == kernels.DeviceSide(
        frozenset({"_Z1ki", "_Z1tIfEvT_"}), frozenset({"table", "set"}), frozenset({"table"})
    )


@needs_nvcc
@pytest.mark.parametrize("compiler", COMPILERS)
def test_an_object_s_stubs_and_variables_are_matched(compiler: str) -> None:
    unit = kernels.unit("x.fatbin", fatbin(), host_object(compiler))
    assert set(unit.kernels) == {"_Z1ki", "_Z1tIfEvT_"}
    assert set(unit.variables) == {
        kernels.Variable("table", 32, True), kernels.Variable("set", 4, False)
    }  # fmt: skip
    (private,) = unit.missing
    assert private.startswith("_ZL1si"), "a stub that no other object can refer to"
    assert kernels.missing([unit]) == [private]


@needs_nvcc
def test_a_kernel_that_has_become_no_stub_is_missing(tmp_path: Path) -> None:
    (tmp_path / "x.cpp").write_text("void k(int n) {}\n")
    command(COMPILERS[0], "-c", tmp_path / "x.cpp", "-o", tmp_path / "x.o")
    unit = kernels.unit("x.fatbin", fatbin(), (tmp_path / "x.o").read_bytes())
    assert unit.missing == ("_Z1ki",)


@needs_nvcc
def test_an_object_without_launches_registers_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.cpp").write_text("int f() { return 1; }\n")
    command(COMPILERS[0], "-c", tmp_path / "x.cpp", "-o", tmp_path / "x.o")
    unit = kernels.unit("x.fatbin", fatbin(), (tmp_path / "x.o").read_bytes())
    assert unit == kernels.Unit("x.fatbin", (), (), ())


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(58), b"x" * 100])
def test_bytes_that_are_no_image_are_refused(data: bytes) -> None:
    with pytest.raises(MalformedError):
        list(Image(memoryview(data)).symbols)
    with pytest.raises(MalformedError):
        kernels.device_side(data)


def damaged(data: bytes, cut: int, changes: list[tuple[int, int]]) -> bytes:
    made = bytearray(data)
    for at, value in changes:
        made[at % len(made)] = value
    return bytes(made[: len(made) - cut % len(made)])


changes = st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), max_size=8)
header_changes = st.lists(st.tuples(st.integers(0, 63), st.integers(0, 255)), max_size=4)


@needs_nvcc
@needs_compiler
@settings(deadline=None)
@given(st.integers(0, 1 << 20), changes | header_changes, st.booleans())
def test_damaged_files_are_refused_or_read_never_a_crash(
    cut: int, where: list[tuple[int, int]], in_host: bool
) -> None:
    device, host = fatbin(), host_object(COMPILERS[0])
    if in_host:
        host = damaged(host, cut, where)
    else:
        device = damaged(device, cut, where)
    try:
        unit = kernels.unit("x.fatbin", device, host)
    except MalformedError:
        return
    assert isinstance(kernels.fatbin_assembly([unit]), str)


def lines_with(text: str, start: str) -> Iterator[str]:
    return (line for line in text.splitlines() if line.startswith(start))


def test_names_that_are_not_symbols_never_reach_the_assembler() -> None:
    bad = 'x"\n.incbin "/etc/passwd'
    with pytest.raises(ValueError, match="file name"):
        kernels.fatbin_assembly([kernels.Unit(bad, (), (), ())])
    unit = kernels.Unit("a.fatbin", ("_Z1kv",), (kernels.Variable("v", 4, False),), ())
    text = kernels.fatbin_assembly([unit])
    assert list(lines_with(text, ".quad _Z1kv")) == [".quad _Z1kv, rs_name_0_0"]
    assert list(lines_with(text, ".quad v")) == [".quad v, rs_name_0_1, 4, 0"]
