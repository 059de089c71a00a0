"""What the GPU did, from CUPTI's activity records, by ctypes.

torch.profiler tells the same, but its first use takes four seconds, it has no registers, and its
names are no longer those in the module's file. All that is needed of a record lies in its first
112 bytes, which are the same from CUDA 12.0 (API version 18) to 13: a test holds them against
the installed header.

Buffers are asked for by callbacks into Python. There is one for all threads, and a first one is
taken by the thread that opened it: a thread of the program's own that launches kernels while the
main thread waits for it with the interpreter's lock would never get one.
"""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass

API_VERSIONS = range(18, 140_000)
MEMCPY, MEMSET, KERNEL, CONCURRENT_KERNEL = 1, 2, 3, 10
REGISTERS, START, END, COPY_CORRELATION, KERNEL_CORRELATION, NAME = 6, 16, 24, 44, 92, 104
"""Offsets in CUpti_ActivityKernel*, and, up to COPY_CORRELATION, in CUpti_ActivityMemcpy* and
CUpti_ActivityMemset*."""

_BUFFER_BYTES = 8 << 20
_PER_THREAD_BUFFERS = 9
_FLUSH_FORCED = 1
_KINDS = {MEMCPY: "copy", MEMSET: "copy", KERNEL: "kernel", CONCURRENT_KERNEL: "kernel"}
_COPY_NAMES = {MEMCPY: "memcpy", MEMSET: "memset"}
_Pointer = ctypes.c_void_p
_Size = ctypes.c_size_t
_Requested = ctypes.CFUNCTYPE(
    None, ctypes.POINTER(_Pointer), ctypes.POINTER(_Size), ctypes.POINTER(_Size)
)
_Completed = ctypes.CFUNCTYPE(None, _Pointer, ctypes.c_uint32, _Pointer, _Size, _Size)


class CuptiError(Exception):
    """CUPTI is not there, or refuses."""


@dataclass(frozen=True)
class Record:
    """One activity of the device."""

    kind: str
    """`kernel` or `copy`."""
    name: str
    """Of a kernel as it is in the module's file."""
    registers: int
    start: int
    end: int
    correlation: int
    """Grows with each call of the runtime that starts device work."""


class Cupti:
    """The activity records of this process, which may have one of these in all its life."""

    def __init__(self, library: str) -> None:
        """`library`: `libcupti.so.13`, which torch has loaded already."""
        self._records: list[Record] = []
        self._buffers: dict[int, ctypes.Array[ctypes.c_char]] = {}
        try:
            self._library = ctypes.CDLL(library)
        except OSError as error:
            raise CuptiError(f"{library}: {error}") from error
        version = ctypes.c_uint32()
        self._ask("cuptiGetVersion", ctypes.byref(version))
        if version.value not in API_VERSIONS:
            raise CuptiError(f"{library} has version {version.value}, whose records are unknown")
        shared, size = ctypes.c_uint8(0), _Size(1)
        # Older libraries have one buffer for all threads and do not know the attribute.
        self._library.cuptiActivitySetAttribute(
            _PER_THREAD_BUFFERS, ctypes.byref(size), ctypes.byref(shared)
        )
        self._callbacks = (_Requested(self._requested), _Completed(self._completed))
        self._ask("cuptiActivityRegisterCallbacks", *self._callbacks)
        self._enabled = False

    def enable(self, on: bool) -> None:
        """Start or stop recording."""
        if on != self._enabled:
            self._enabled = on
            for kind in (CONCURRENT_KERNEL, MEMCPY, MEMSET):
                self._ask("cuptiActivityEnable" if on else "cuptiActivityDisable", kind)

    def take(self) -> list[Record]:
        """What was recorded since the last time, in the order in which it was asked for.

        The device must be idle.
        """
        self._ask("cuptiActivityFlushAll", _FLUSH_FORCED)
        records, self._records = self._records, []
        return sorted(records, key=lambda record: record.correlation)

    def _ask(self, function: str, *arguments: object) -> None:
        code = getattr(self._library, function)(*arguments)
        if code != 0:
            raise CuptiError(f"{function} answered {code}")

    def _requested(self, buffer: object, size: object, most: object) -> None:
        memory = ctypes.create_string_buffer(_BUFFER_BYTES + 8)
        address = (ctypes.addressof(memory) + 7) & ~7
        self._buffers[address] = memory
        buffer[0], size[0], most[0] = address, _BUFFER_BYTES, 0  # type: ignore[index]

    def _completed(self, context: int, stream: int, buffer: int, size: int, valid: int) -> None:
        record = _Pointer()
        while valid and not self._library.cuptiActivityGetNextRecord(
            _Pointer(buffer), _Size(valid), ctypes.byref(record)
        ):
            assert record.value is not None
            parsed = parse(record.value)
            if parsed is not None:
                self._records.append(parsed)
        del self._buffers[buffer]


def parse(address: int) -> Record | None:
    """The record at an address; None for a kind that was not asked for."""
    kind = ctypes.c_uint32.from_address(address).value
    if kind not in _KINDS:
        return None
    kernel = _KINDS[kind] == "kernel"
    fields = ctypes.string_at(address, NAME + 8 if kernel else COPY_CORRELATION + 4)
    start, end = (struct.unpack_from("<Q", fields, at)[0] for at in (START, END))
    correlation = struct.unpack_from(
        "<I", fields, KERNEL_CORRELATION if kernel else COPY_CORRELATION
    )[0]
    if not kernel:
        return Record("copy", _COPY_NAMES[kind], 0, start, end, correlation)
    (pointer,) = struct.unpack_from("<Q", fields, NAME)
    name = ctypes.string_at(pointer).decode("utf-8", "replace") if pointer else ""
    (registers,) = struct.unpack_from("<H", fields, REGISTERS)
    return Record("kernel", name, registers, start, end, correlation)
