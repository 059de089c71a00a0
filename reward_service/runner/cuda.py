"""What the runner needs of CUDA beyond torch, through the driver and the runtime that torch loaded.

The kernel fills the shared memory of every multiprocessor: what a block finds there otherwise is
what the last one left, which may look like an answer, or zeros that nobody wrote.
"""

from __future__ import annotations

import ctypes

import torch

from reward_service.runner.poison import poison_word

_SCRIBBLE = b"""
.version 7.0
.target sm_75
.address_size 64
.extern .shared .align 16 .b8 memory[];
.visible .entry scribble(.param .u32 size, .param .u32 word)
{
    .reg .pred %done;
    .reg .b32 %at, %end, %word, %step, %base;
    mov.u32 %base, memory;
    mov.u32 %at, %tid.x;
    mov.u32 %step, %ntid.x;
    shl.b32 %at, %at, 2;
    shl.b32 %step, %step, 2;
    ld.param.u32 %end, [size];
    ld.param.u32 %word, [word];
    add.u32 %at, %at, %base;
    add.u32 %end, %end, %base;
more:
    setp.ge.u32 %done, %at, %end;
    @%done bra finished;
    st.volatile.shared.u32 [%at], %word;
    add.u32 %at, %at, %step;
    bra more;
finished:
    ret;
}
"""
"""PTX, which the driver compiles: it needs no compiler on the host."""
_THREADS = 1024

# Numbers of cuda.h.
_MULTIPROCESSORS = 16
_MOST_SHARED_BYTES = 97
_MOST_PERSISTING_BYTES = 108
_FUNCTION_SHARED_BYTES = 8
_LIMIT_PERSISTING_BYTES = 6


class Cuda:
    """The driver and the runtime of this process; needs torch's context to be current."""

    def __init__(self) -> None:
        assert torch.version.cuda is not None
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._runtime = ctypes.CDLL(f"libcudart.so.{torch.version.cuda.split('.')[0]}")
        self._runtime.cudaGetErrorName.restype = ctypes.c_char_p
        self._driver.cuMemsetD32Async.argtypes = (
            ctypes.c_uint64,
            ctypes.c_uint,
            ctypes.c_size_t,
            ctypes.c_void_p,
        )
        self._driver.cuCtxSetLimit.argtypes = (ctypes.c_int, ctypes.c_size_t)
        device = ctypes.c_int()
        self._call("cuCtxGetDevice", ctypes.byref(device))
        self._device = device.value
        self._shared_bytes = self._attribute(_MOST_SHARED_BYTES)
        self._blocks = 2 * self._attribute(_MULTIPROCESSORS)
        # A part of a divided GPU has the lines and not the limit.
        self._persists = (
            self._attribute(_MOST_PERSISTING_BYTES) > 0
            and self._driver.cuCtxSetLimit(_LIMIT_PERSISTING_BYTES, 0) == 0
        )
        module, self._scribble = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(module), _SCRIBBLE)
        self._call("cuModuleGetFunction", ctypes.byref(self._scribble), module, b"scribble")
        self._call("cuFuncSetAttribute", self._scribble, _FUNCTION_SHARED_BYTES, self._shared_bytes)

    def scribble(self) -> None:
        """Queue the poisoning of all shared memory on the default stream."""
        size, word = ctypes.c_uint(self._shared_bytes), ctypes.c_uint(poison_word())
        arguments = (ctypes.c_void_p * 2)(
            ctypes.addressof(size),
            ctypes.addressof(word),
        )
        grid, block = (self._blocks, 1, 1), (_THREADS, 1, 1)
        self._call(
            "cuLaunchKernel",
            self._scribble,
            *grid,
            *block,
            self._shared_bytes,
            None,
            arguments,
            None,
        )

    def poison_free_memory(self) -> None:
        """Queue the poisoning of all memory that torch's allocator holds free on this device.

        The device must be idle: memory that was freed on another stream may else be in use.
        """
        for segment in torch.cuda.memory_snapshot():
            private = tuple(segment.get("segment_pool_id", (0, 0))) != (0, 0)
            if segment["device"] != 0 or private:  # graphs own what their pools hold
                continue
            address = segment["address"]
            for block in segment["blocks"]:
                if block["state"] == "inactive":
                    words = block["size"] // 4
                    self._call("cuMemsetD32Async", address, poison_word(), words, None)
                address += block["size"]

    def drop_persisting_lines(self) -> None:
        """Take back what a program set aside of the L2 cache, and what it keeps there."""
        if self._persists:
            self._call("cuCtxSetLimit", _LIMIT_PERSISTING_BYTES, 0)
            self._call("cuCtxResetPersistingL2Cache")

    def last_error(self) -> str | None:
        """The name of the last error of this thread that nobody looked at, and forget it.

        A launch that fails, fails silently for whoever does not ask.
        """
        code = self._runtime.cudaGetLastError()
        if code == 0:
            return None
        name: bytes = self._runtime.cudaGetErrorName(code)
        return name.decode()

    def _attribute(self, number: int) -> int:
        value = ctypes.c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(value), number, self._device)
        return value.value

    def _call(self, name: str, *arguments: object) -> None:
        code = getattr(self._driver, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"CUDA error: {name} answered {code}")
