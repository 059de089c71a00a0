"""Kernels read from built modules, and emptied in them. The modules are made by nvcc."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from reward_service.build.elf import MalformedError
from reward_service.judge.device_code import emptied, own_kernels

NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
CUOBJDUMP = shutil.which("cuobjdump") or os.path.expandvars("$CUDA_HOME/bin/cuobjdump")
needs_nvcc = pytest.mark.skipif(not Path(NVCC).exists(), reason="needs nvcc")
needs_cuobjdump = pytest.mark.skipif(not Path(CUOBJDUMP).exists(), reason="needs cuobjdump")

SOURCE = """
template <class T> __global__ void scale(T* x, T a) { x[threadIdx.x] *= a; }
extern "C" __global__ void plain(float* x) { x[threadIdx.x] = 1; }
static __global__ void local(float* x) { x[threadIdx.x] = 2; }
namespace { __global__ void anonymous(float* x) { x[threadIdx.x] = 3; } }
__device__ __noinline__ float helper(float a) { return a * a + 1; }
__global__ void calls(float* x) { x[threadIdx.x] = helper(x[threadIdx.x]); }
extern "C" void run(float* x) {
  scale<float><<<1, 32>>>(x, 2.f);
  scale<double><<<1, 32>>>((double*)x, 2.);
  plain<<<1, 32>>>(x);
  local<<<1, 32>>>(x);
  anonymous<<<1, 32>>>(x);
  calls<<<1, 32>>>(x);
}
"""


def module_of(source: str, folder: Path, *flags: str) -> bytes:
    (folder / "k.cu").write_text(source)
    argv = [NVCC, "-shared", "-cudart=shared", "--compiler-options", "-fPIC", "-arch=sm_90"]
    subprocess.run([*argv, *flags, "k.cu", "-o", "k.so"], cwd=folder, check=True)
    return (folder / "k.so").read_bytes()


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return module_of(SOURCE, tmp_path_factory.mktemp("module"), "--no-compress")


@needs_nvcc
def test_every_kernel_is_found_and_no_function_that_is_none(module: bytes) -> None:
    found = own_kernels([module])
    assert {"plain", "_Z5scaleIfEvPT_S0_", "_Z5scaleIdEvPT_S0_", "_Z5callsPf"} < set(found)
    assert len(found) == 6
    assert not any(name.startswith("$") or name == "_Z6helperf" for name in found)
    assert all(4 <= registers <= 64 for registers in found.values())


@needs_nvcc
def test_registers_are_those_of_the_kernel(tmp_path: Path) -> None:
    source = """
    __global__ void __launch_bounds__(256, 1) many(float* x) {
      float a[64];
      for (int i = 0; i < 64; ++i) a[i] = x[i * 32 + threadIdx.x];
      __syncthreads();
      for (int i = 0; i < 64; ++i) x[(63 - i) * 32 + threadIdx.x] = a[i] * a[(i * 7) % 64];
    }
    __global__ void few(float* x) { x[0] = 1; }
    """
    found = own_kernels([module_of(source, tmp_path, "--no-compress")])
    assert found["_Z4manyPf"] > 2 * found["_Z3fewPf"]


@needs_nvcc
def test_emptying_changes_one_instruction_of_each_kernel_and_nothing_else(module: bytes) -> None:
    ghost = emptied(module)
    assert len(ghost) == len(module)
    assert own_kernels([ghost]) == own_kernels([module])
    changed = {i // 16 for i, (a, b) in enumerate(zip(module, ghost, strict=True)) if a != b}
    assert len(changed) == 6
    assert emptied(ghost) == ghost


@needs_nvcc
@needs_cuobjdump
def test_the_first_instruction_of_an_emptied_kernel_is_exit(module: bytes, tmp_path: Path) -> None:
    path = tmp_path / "ghost.so"
    path.write_bytes(emptied(module))
    listing = subprocess.run(
        [CUOBJDUMP, "-sass", path], check=True, capture_output=True, text=True
    ).stdout
    first = re.findall(r"Function : (\S+).*?/\*0000\*/\s+(.*?);", listing, re.DOTALL)
    assert len(first) == 6
    assert {instruction.strip() for _, instruction in first} == {"EXIT"}


@needs_nvcc
def test_compressed_device_code_is_told_apart_from_none(tmp_path: Path) -> None:
    packed = module_of(SOURCE, tmp_path, "--compress-mode=size")
    with pytest.raises(MalformedError, match="cannot be read"):
        own_kernels([packed])


@needs_nvcc
def test_an_image_in_plain_data_is_no_kernel_of_the_module(module: bytes, tmp_path: Path) -> None:
    (tmp_path / "hidden.bin").write_bytes(module)
    source = """
    asm(".section .rodata\\n.global hidden\\nhidden: .incbin \\"hidden.bin\\"\\n.previous");
    extern "C" __global__ void shown(float* x) { x[0] = 1; }
    extern "C" void run(float* x) { shown<<<1, 1>>>(x); }
    """
    assert set(own_kernels([module_of(source, tmp_path, "--no-compress")])) == {"shown"}


@pytest.mark.parametrize("data", [b"", b"\x7fELF\x02\x01" + bytes(10), b"MZ" * 100])
def test_what_is_no_module_is_refused_in_words(data: bytes) -> None:
    with pytest.raises(MalformedError):
        emptied(data)
