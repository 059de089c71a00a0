"""The timed window of one call, on each kind of device.

In this order: the inputs are copied out of shared memory and unveiled (by the key that came with
`go`), the device's cache is flushed, a GPU's shared memory is poisoned, and the call runs between
two marks of the device's own clock. On a GPU the call is queued behind the flush, so that the
device is busy while the call is launched and the marks bracket device work alone.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from reward_service.runner.cuda import Cuda
from reward_service.runner.page import SharedMemory

FLUSH_BYTES = 256 << 20
"""Well over any L2 cache today."""
FLUSHES = 4
"""How often it is written ahead of each call: 0.3 ms of device work on an H200, long enough for
the host to have launched the call by the time that the device reaches it. With half of that, one
call in five of a 16 us product was launched too late, and seemed to take 20 to 80 us."""
AHEAD = FLUSHES + 1
"""What the window has a GPU do ahead of the call: flush, and poison shared memory."""
POISON_ONE_IN = 4
"""All free memory of a GPU is poisoned ahead of one call in so many: listing it takes about as long
as everything else that prepares a call."""


class Window(Protocol):
    """What differs between devices."""

    device: torch.device

    def adopt(self, memory: SharedMemory) -> None:
        """Prepare shared memory for fast copies."""
        ...

    def prepare(self) -> None:
        """Take back what earlier calls left on the device, ahead of the clock."""
        ...

    def time(self, call: Callable[[], Any]) -> tuple[Any, int]:
        """Flush, call, and wait for the device; the result and the call's nanoseconds."""
        ...

    def fault(self) -> str | None:
        """An error of the device since `prepare` that raised no exception."""
        ...

    def synchronize(self) -> None:
        """Wait for all work on the device."""
        ...


class CpuWindow:
    """The host as the device: its clock is the process's monotonic clock."""

    device = torch.device("cpu")

    def adopt(self, memory: SharedMemory) -> None:
        """Nothing to prepare."""

    def prepare(self) -> None:
        """A call leaves nothing here."""

    def time(self, call: Callable[[], Any]) -> tuple[Any, int]:
        """See `Window`."""
        start = time.perf_counter_ns()
        result = call()
        return result, time.perf_counter_ns() - start

    def fault(self) -> str | None:
        """The host has no errors that pass in silence."""
        return None

    def synchronize(self) -> None:
        """The host runs in order."""


class CudaWindow:
    """One GPU: events on its default stream, and a device-wide wait at the end."""

    def __init__(self) -> None:
        self.device = torch.device("cuda", 0)
        torch.cuda.init()
        self._flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device=self.device)
        self._cuda = Cuda()
        self._start = torch.cuda.Event(enable_timing=True)
        self._end = torch.cuda.Event(enable_timing=True)

    def adopt(self, memory: SharedMemory) -> None:
        """Page-lock it, so that copies run beside the host."""
        whole = torch.frombuffer(memory.map, dtype=torch.uint8)
        code = torch.cuda.cudart().cudaHostRegister(whole.data_ptr(), memory.size, 0)
        if int(code) != 0:
            raise RuntimeError(f"cudaHostRegister answered {code}")

    def prepare(self) -> None:
        """See `Window`."""
        torch.cuda.synchronize()
        self._cuda.drop_persisting_lines()
        if secrets.randbelow(POISON_ONE_IN) == 0:
            self._cuda.poison_free_memory()
        self._cuda.last_error()

    def time(self, call: Callable[[], Any]) -> tuple[Any, int]:
        """See `Window`."""
        for _ in range(FLUSHES):
            self._flush.zero_()
        self._cuda.scribble()
        self._start.record()
        result = call()
        self._end.record()
        torch.cuda.synchronize()
        return result, round(self._start.elapsed_time(self._end) * 1e6)

    def fault(self) -> str | None:
        """See `Window`."""
        return self._cuda.last_error()

    def synchronize(self) -> None:
        """See `Window`."""
        torch.cuda.synchronize()


def open_window(device: str) -> Window:
    """The window of a device: `cpu`, or `cuda` for the one GPU that the process may see."""
    return CpuWindow() if device == "cpu" else CudaWindow()


def synchronized_copy(window: Window, targets: Sequence[Tensor], sources: Sequence[Tensor]) -> None:
    """Copy each source into its target and wait until all are there."""
    for target, source in zip(targets, sources, strict=True):
        target.copy_(source)
    window.synchronize()
