"""Starts the zygote with an environment of its own, and reaches it over a channel."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from reward_service.errors import DeviceError
from reward_service.runner.channel import Channel, ChannelError

START_LIMIT_S = 180.0
_PROGRAM = (
    "import sys; sys.path[:] = {path!r}; from reward_service.runner.zygote import main; main({fd})"
)
_KEPT = ("LD_LIBRARY_PATH", "CUDA_HOME", "LANG", "TZ")


class ZygoteProcess:
    """The zygote, from outside."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        ours, theirs = socket.socketpair()
        program = _PROGRAM.format(path=sys.path, fd=theirs.fileno())
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", program],
            env={**_base_environment(), **environment},
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
        )
        theirs.close()
        self.channel = Channel(ours)
        try:
            self.channel.receive(START_LIMIT_S)
        except ChannelError as error:
            self.close()
            raise DeviceError(f"the zygote did not start: {error}") from error

    def start_judge(self, config: dict[str, Any]) -> Channel:
        """Fork the judge; the channel to it."""
        ours, theirs = socket.socketpair()
        self.channel.request({"op": "judge", **config}, (theirs.fileno(),), timeout=60)
        theirs.close()
        return Channel(ours, max_bytes=1 << 24)

    def close(self) -> None:
        """End it; its children die with it."""
        self.channel.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _base_environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        "PYTHONDONTWRITEBYTECODE": "1",
        # Memory of results stays with the process. Otherwise glibc decides by each process's own
        # history whether every result is mapped anew and faults in page by page: A/A of an 8 MiB
        # result gave 0.5 half of the time.
        "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
        "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
        # torch.compile would precompile headers for later programs; each here has its own caches.
        "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        **kept,
    }
