"""The failures of a program, as exceptions in the runner and as data for the judge."""

from __future__ import annotations

import re

import torch

from reward_service.runner.page import Status

_OUT_OF_MEMORY = re.compile(
    r"can't allocate memory|bad_alloc|out of memory|CUDACachingAllocator\.cpp"
)
"""How torch's CPU allocator, C++ and CUDA say so where no exception type does. The last: out of
memory, torch asks NVML who holds it, and that fails in the sandbox."""


class RefusedError(Exception):
    """The program does not do what the format asks of it; the message says what."""

    status = Status.EXCEPTION


class SchemaError(RefusedError):
    """A result that does not look like the reference's."""

    status = Status.SCHEMA


class AliasError(RefusedError):
    """A result that shares memory where the reference's does not."""

    status = Status.ALIAS


class OutOfBoundsError(RefusedError):
    """A write beyond an end of an input."""

    status = Status.OUT_OF_BOUNDS


class DeviceFaultError(RefusedError):
    """An error of the device that the program passed over."""

    status = Status.CUDA_FAULT


def failure(error: Exception) -> dict[str, str]:
    """An exception of the program as data."""
    kind = Status.EXCEPTION
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - its words are foreign code too
        text = type(error).__name__
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)) or _OUT_OF_MEMORY.search(text):
        kind = Status.OUT_OF_MEMORY
    elif isinstance(error, RefusedError):
        kind, text = error.status, str(error)
    elif isinstance(error, RuntimeError) and "CUDA" in text and "error" in text:
        kind = Status.CUDA_FAULT
    return {"kind": kind.name, "type": type(error).__name__, "message": text[:2_000]}
