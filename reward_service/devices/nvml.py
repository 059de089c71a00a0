"""Reads a GPU's clocks from the driver's management library, without changing anything."""

from __future__ import annotations

import ctypes
from typing import Self

_SM, _MEMORY = 1, 2


class NvmlError(Exception):
    """The management library is missing or refuses."""


class Nvml:
    """A handle on one GPU."""

    def __init__(self, library: ctypes.CDLL, handle: ctypes.c_void_p) -> None:
        self._library = library
        self._handle = handle

    @classmethod
    def open(cls, uuid: str) -> Self:
        """The GPU of this uuid; raises `NvmlError`."""
        try:
            library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError as error:
            raise NvmlError(str(error)) from error
        handle = ctypes.c_void_p()
        _checked(library.nvmlInit_v2(), "nvmlInit")
        _checked(
            library.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(handle)),
            "nvmlDeviceGetHandleByUUID",
        )
        return cls(library, handle)

    def clocks_mhz(self) -> dict[str, float]:
        """The current clocks of the multiprocessors (`sm`) and the memory (`memory`)."""
        return {"sm": self._clock(_SM), "memory": self._clock(_MEMORY)}

    def _clock(self, kind: int) -> float:
        value = ctypes.c_uint()
        code = self._library.nvmlDeviceGetClockInfo(self._handle, kind, ctypes.byref(value))
        _checked(code, "nvmlDeviceGetClockInfo")
        return float(value.value)


def _checked(code: int, what: str) -> None:
    if code != 0:
        raise NvmlError(f"{what} answered {code}")
