"""Watching on a GPU: every kernel and copy of the device, by CUPTI, whatever started it.

All is recorded; what came before the call is thrown away, and so is what the window itself has the
device do ahead of the call, which comes first after that.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import Any

import torch

from reward_service.runner.cupti import Cupti
from reward_service.runner.intervals import Union
from reward_service.runner.watch import MAX_CALLS, Tally
from reward_service.runner.window import AHEAD, Window

_COPY_KERNELS = re.compile(r"direct_copy_kernel|FillFunctor|CatArrayBatchedCopy")
"""Kernels of torch that only copy or fill."""


class CudaWatch:
    """See `Watch`."""

    def __init__(self) -> None:
        major = str(torch.version.cuda).partition(".")[0]
        self.cupti = Cupti(f"libcupti.so.{major}")
        self.cupti.enable(True)  # now, for the first time takes long
        self.calls: list[Tally] = []

    def prepare(self) -> None:
        """See `Watch`."""
        self.cupti.enable(True)

    def time(self, window: Window, call: Callable[[], Any]) -> tuple[Any, int]:
        """See `Watch`."""
        window.synchronize()
        self.cupti.take()
        result, ns = window.time(call)
        records = self.cupti.take()[AHEAD:]
        found = Tally(Union((r.start, r.end) for r in records).length, len(records))
        for record in records:
            is_copy = record.kind == "copy" or _COPY_KERNELS.search(record.name)
            kind = "copy" if is_copy else "kernel"
            found.add(kind, record.name, record.end - record.start, record.registers)
        self.calls.append(found)
        return result, ns

    def report(self) -> list[dict[str, Any]]:
        """See `Watch`."""
        self.cupti.enable(False)
        calls, self.calls = self.calls, []
        return [call.as_json(_demangled) for call in calls[-MAX_CALLS:]]


def _demangled(name: str) -> str:
    """A C++ name as a person would write it; other names as they are."""
    demangle = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
    demangle.restype = ctypes.c_char_p
    status = ctypes.c_int()
    text = demangle(name.encode(), None, None, ctypes.byref(status))
    return name if text is None else str(text.decode("utf-8", "replace"))
