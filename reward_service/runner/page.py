"""The control page: one page of memory shared by the judge and one runner, through which the
judge drives calls without system calls.

A call `n` (n = 1, 2, ...) goes like this; each side writes only its own words:

    judge                                   runner
    seed, renew, mode; call = n     ->      prepares storage
                                    <-      ready = n
    key; go = n (clock starts)      ->      copies the inputs to the device and unveils them
                                    <-      loaded = n
                                            calls, and waits for the whole device
                                    <-      synced = n
                                            digests
                                    <-      claimed_ns, digests, status; done = n
    clock stops; what, keep; export = n ->  copies the outputs into judge-owned memory, and looks
                                            for damage around the inputs
                                    <-      status; exported = n

The inputs lie in shared memory before `go`, but veiled: the key comes with `go`, and until then
their bytes say nothing. The digests, of the outputs and of the inputs, are taken before `done`, so
that bytes written after the clock stopped are noticed when the judge compares them with what was
exported, and so that no input can be unveiled later, or never. A runner could choose its outputs to
fit a digest that it told before; so the judge's clock also bounds the export, where such work would
have to be done. It notes `loaded` and `synced` too: between them little happens
but the call, so that its bound on the call is much tighter than that on the whole.

`keep` says that the outputs of this call will be asked for once more: by `call = n` with `recall`
set, to which the runner only answers `exported = n`.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
from enum import IntEnum
from typing import Self

TEXT_BYTES = 4_000
PAGE_BYTES = 8_192
LEAVE = -1
"""Value of `call` that ends call mode."""


class Mode(IntEnum):
    """Which twin of the program a call runs."""

    WORKING = 0
    DOUBLE = 1
    """The reference in float64."""


class What(IntEnum):
    """What the judge wants to see of a finished call; it says so only after `done`."""

    OUTPUTS = 0
    EVERYTHING = 1
    """Also the inputs and the state as the call left them."""


class Status(IntEnum):
    """What a runner says of its own call; believed only where it speaks against itself."""

    OK = 0
    EXCEPTION = 1
    OUT_OF_MEMORY = 2
    CUDA_FAULT = 3
    SCHEMA = 4
    ALIAS = 5
    OUT_OF_BOUNDS = 6


class ControlWords(ctypes.Structure):
    """Words of the page; the first block is written by the judge, the second by the runner."""

    _fields_ = (
        ("call", ctypes.c_int64),
        ("go", ctypes.c_int64),
        ("export", ctypes.c_int64),
        ("mode", ctypes.c_int64),
        ("renew", ctypes.c_int64),
        ("restore", ctypes.c_int64),
        ("seed", ctypes.c_int64),
        ("what", ctypes.c_int64),
        ("keep", ctypes.c_int64),
        ("recall", ctypes.c_int64),
        ("key", ctypes.c_int64),
        ("ready", ctypes.c_int64),
        ("loaded", ctypes.c_int64),
        ("synced", ctypes.c_int64),
        ("done", ctypes.c_int64),
        ("exported", ctypes.c_int64),
        ("status", ctypes.c_int64),
        ("claimed_ns", ctypes.c_int64),
        ("digest", ctypes.c_int64),
        ("inputs_digest", ctypes.c_int64),
        ("text", ctypes.c_char * TEXT_BYTES),
    )


class SharedMemory:
    """Anonymous memory with a file descriptor that can be handed to another process.

    Its size is sealed: a runner cannot shrink it under the judge's feet.
    """

    def __init__(self, fd: int, size: int) -> None:
        self.fd = fd
        self.size = size
        self.map = mmap.mmap(fd, size)

    @classmethod
    def create(cls, size: int) -> Self:
        """Make `size` bytes of zeroed memory (at least one page)."""
        size = max(size, mmap.PAGESIZE)
        fd = os.memfd_create("reward-service", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, size)
        seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
        return cls(fd, size)

    @classmethod
    def adopt(cls, fd: int) -> Self:
        """Map memory received from another process."""
        return cls(fd, os.fstat(fd).st_size)

    def close(self) -> None:
        """Close the descriptor; the map goes when nothing points into it any more."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class ControlPage:
    """`ControlWords` in shared memory."""

    def __init__(self, memory: SharedMemory) -> None:
        self.memory = memory
        self.words = ControlWords.from_buffer(memory.map)

    @classmethod
    def create(cls) -> Self:
        """Make a fresh page."""
        return cls(SharedMemory.create(PAGE_BYTES))

    def text(self) -> str:
        """The runner's own words about a failed call: bounded, untrusted."""
        return bytes(self.words.text).split(b"\0", 1)[0].decode("utf-8", "replace")

    def set_text(self, text: str) -> None:
        """Leave a message for the judge."""
        self.words.text = text.encode("utf-8", "replace")[: TEXT_BYTES - 1].replace(b"\0", b" ")


assert ctypes.sizeof(ControlWords) <= PAGE_BYTES
