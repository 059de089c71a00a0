"""The judge's own device: where it makes values, keeps expectations and compares.

For a GPU class the judge has a context of its own on the same GPU as the runners, so that large
tensors are made and compared there; for the `cpu` class it is the host.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from reward_service.devices.detect import device_class
from reward_service.runner.page import SharedMemory

_COPY_BYTES = 256 << 20
_PRODUCT_SIZE = {"cpu": 512, "cuda": 8192}
_LEAST_CPU_CACHE_BYTES = 32 << 20


@dataclass(frozen=True)
class DeviceFacts:
    """What a device is, for provenance and floors."""

    device_class: str
    name: str
    uuid: str
    torch: str
    cuda: str | None
    memory_bytes: int
    cache_bytes: int
    bandwidth_bytes_s: float
    """Bytes a second that writing, reading or copying a large block reaches, whichever is most."""
    multiplications_s: float
    """A second, as the fastest matrix product in any precision has them."""


class JudgeDevice:
    """`cpu`, or the one GPU that this process may see."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        if kind == "cpu":
            self.device = torch.device("cpu")
            torch.set_num_threads(max(1, len(os.sched_getaffinity(0))))
        else:
            self.device = torch.device("cuda", 0)
            torch.backends.cuda.matmul.allow_tf32 = False
            torch.zeros(1, device=self.device)

    def adopt(self, memory: SharedMemory) -> None:
        """Page-lock shared memory where copies to a GPU gain by it."""
        if self.kind == "cuda":
            address = torch.frombuffer(memory.map, dtype=torch.uint8).data_ptr()
            torch.cuda.cudart().cudaHostRegister(address, memory.size, 0)

    def release(self, memory: SharedMemory) -> None:
        """Undo `adopt`."""
        if self.kind == "cuda":
            address = torch.frombuffer(memory.map, dtype=torch.uint8).data_ptr()
            torch.cuda.cudart().cudaHostUnregister(address)
        memory.close()

    def synchronize(self) -> None:
        """Wait for the judge's own work."""
        if self.kind == "cuda":
            torch.cuda.synchronize()

    def facts(self) -> DeviceFacts:
        """Look at the device, and measure its write bandwidth."""
        if self.kind == "cpu":
            return DeviceFacts(
                device_class="cpu",
                name=_cpu_name(),
                uuid=f"cpu-{os.uname().nodename}",
                torch=torch.__version__,
                cuda=None,
                memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
                cache_bytes=max(_LEAST_CPU_CACHE_BYTES, _cpu_cache_bytes()),
                bandwidth_bytes_s=self._bandwidth(),
                multiplications_s=self._multiplications(),
            )
        properties = torch.cuda.get_device_properties(0)
        return DeviceFacts(
            device_class=device_class(properties.name),
            name=properties.name,
            uuid=f"GPU-{properties.uuid}",
            torch=torch.__version__,
            cuda=torch.version.cuda,
            memory_bytes=properties.total_memory,
            cache_bytes=properties.L2_cache_size,
            bandwidth_bytes_s=self._bandwidth(),
            multiplications_s=self._multiplications(),
        )

    def _bandwidth(self) -> float:
        block = torch.zeros(_COPY_BYTES // 8, dtype=torch.int64, device=self.device)
        half = len(block) // 2
        ways: tuple[Callable[[], object], ...] = (
            lambda: block.fill_(1),
            block.sum,
            lambda: block[:half].copy_(block[half:]),
        )
        return _COPY_BYTES / min(self._best(way, 4) for way in ways)

    def _multiplications(self) -> float:
        size = _PRODUCT_SIZE[self.kind]
        torch.backends.cuda.matmul.allow_tf32 = True
        best = float("inf")
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            a = torch.ones(size, size, dtype=dtype, device=self.device)
            best = min(best, self._best(partial(torch.mm, a, a), 8))
        torch.backends.cuda.matmul.allow_tf32 = False
        return size**3 / best

    def _best(self, work: Callable[[], object], times: int) -> float:
        """The least seconds that something took."""
        best = float("inf")
        for _ in range(times):
            self.synchronize()
            start = time.perf_counter()
            work()
            self.synchronize()
            best = min(best, time.perf_counter() - start)
        return best


def _cpu_cache_bytes() -> int:
    """All of the largest cache that the first core shares; 0 where the system does not tell."""
    sizes = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    return max((_bytes(size.read_text()) for size in sizes), default=0)


def _bytes(text: str) -> int:
    number = text.strip()
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(number[:-1]) * units[number[-1]] if number[-1:] in units else int(number)


def _cpu_name() -> str:
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return os.uname().machine
