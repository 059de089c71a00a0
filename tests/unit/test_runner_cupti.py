"""Activity records of the GPU, parsed from memory; the layout is held against CUDA's header."""

from __future__ import annotations

import ctypes
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from reward_service.runner import cupti
from reward_service.runner.cupti import Record, parse

INCLUDE = Path("/usr/local/cuda/include")
PROGRAM = """
#include <cupti.h>
#include <stddef.h>
#include <stdio.h>
#define AT(type, field) printf("%zu ", offsetof(type, field))
#define COPY(type) AT(type, start); AT(type, end); AT(type, correlationId)
int main() {
  AT(CUpti_ActivityKernel10, registersPerThread);
  AT(CUpti_ActivityKernel10, start);
  AT(CUpti_ActivityKernel10, end);
  AT(CUpti_ActivityKernel10, correlationId);
  AT(CUpti_ActivityKernel10, name);
  COPY(CUpti_ActivityMemcpy6);
  COPY(CUpti_ActivityMemset4);
  printf("%d %d %d %d %d", CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
         CUPTI_ACTIVITY_KIND_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
         CUPTI_API_VERSION);
}
"""


@pytest.mark.skipif(
    not (INCLUDE / "cupti_activity.h").exists() or shutil.which("gcc") is None,
    reason="needs CUPTI's headers and gcc",
)
def test_the_layout_is_the_headers(tmp_path: Path) -> None:
    (tmp_path / "offsets.c").write_text(PROGRAM)
    argv = ["gcc", f"-I{INCLUDE}", "offsets.c", "-o", "offsets"]
    subprocess.run(argv, cwd=tmp_path, check=True)
    told = subprocess.run([tmp_path / "offsets"], check=True, capture_output=True, text=True).stdout
    *numbers, version = map(int, told.split())
    copy = [cupti.START, cupti.END, cupti.COPY_CORRELATION]
    kernel = [
        cupti.REGISTERS,
        cupti.START,
        cupti.END,
        cupti.KERNEL_CORRELATION,
        cupti.NAME,
    ]
    kinds = [
        cupti.MEMCPY,
        cupti.MEMSET,
        cupti.KERNEL,
        cupti.CONCURRENT_KERNEL,
    ]
    assert numbers == [*kernel, *copy, *copy, *kinds]
    assert version in cupti.API_VERSIONS


def record(kind: int, fields: dict[int, tuple[str, int]]) -> ctypes.Array[ctypes.c_char]:
    memory = ctypes.create_string_buffer(256)
    struct.pack_into("<I", memory, 0, kind)
    for offset, (form, value) in fields.items():
        struct.pack_into(f"<{form}", memory, offset, value)
    return memory


def test_a_kernel_is_told_with_its_name_and_registers() -> None:
    name = ctypes.create_string_buffer(b"_Z4mineIfEvPT_")
    memory = record(
        cupti.CONCURRENT_KERNEL,
        {
            cupti.REGISTERS: ("H", 40),
            cupti.START: ("Q", 1_000),
            cupti.END: ("Q", 1_500),
            cupti.KERNEL_CORRELATION: ("I", 7),
            cupti.NAME: ("Q", ctypes.addressof(name)),
        },
    )
    assert parse(ctypes.addressof(memory)) == Record(
        "kernel", "_Z4mineIfEvPT_", 40, 1_000, 1_500, 7
    )


@pytest.mark.parametrize("kind", [cupti.MEMCPY, cupti.MEMSET])
def test_copies_and_fillings_are_told(kind: int) -> None:
    memory = record(
        kind,
        {
            cupti.START: ("Q", 10),
            cupti.END: ("Q", 30),
            cupti.COPY_CORRELATION: ("I", 3),
        },
    )
    found = parse(ctypes.addressof(memory))
    assert found is not None
    assert (found.kind, found.start, found.end, found.correlation) == ("copy", 10, 30, 3)


def test_what_was_not_asked_for_is_left_out() -> None:
    memory = record(4, {})
    assert parse(ctypes.addressof(memory)) is None
