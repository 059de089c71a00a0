"""Runs a command in the sandbox, bounded in time, output and memory.

The parent may have many threads, so nothing of ours runs between fork and exec: a small fresh
interpreter (`launch.py`) starts the command confined and adopts its orphans. The command gets
the descriptors 0, 1 and 2, at most one channel as 3, and the environment it is given and no
other. Its output is drained until the end, and the last bytes are kept; its whole tree is killed
at the end, however it ends, so that nothing outlives this call.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from reward_service.errors import InfrastructureError, PrerequisiteError
from reward_service.sandbox.confine import Confinement
from reward_service.sandbox.tree import Tree

Limit = Literal["memory", "cpu", "file_size"]

_LAUNCH = str(Path(__file__).with_name("launch.py"))
_LOOK_S = 0.1
_LOOK_SHARE = 50.0
"""Times that a look at the process table has taken, before the next one."""
_BY_SIGNAL: dict[int, Limit] = {-signal.SIGXCPU: "cpu", -signal.SIGXFSZ: "file_size"}


@dataclass(frozen=True)
class Completed:
    """How a command ended."""

    returncode: int
    """Exit status, or minus the signal that ended it."""
    output_tail: str
    """The end of stdout and stderr together."""
    seconds: float
    timed_out: bool
    limit: Limit | None
    """The limit that ended it: its tree's memory, or what the command's own end tells."""


def run(
    argv: Sequence[str],
    *,
    confinement: Confinement,
    env: Mapping[str, str],
    timeout_s: float,
    output_limit_bytes: int,
    cwd: Path | None = None,
    memory_bytes: int | None = None,
    stdin: bytes | None = None,
    channel: int | None = None,
    poll: Callable[[], None] = lambda: None,
) -> Completed:
    """Run `argv` (the program by its absolute path) under `confinement` until it and all it
    started have ended.

    `cwd` is the working directory, by default the confinement's scratch. What the confinement
    `reads` is made reachable where a closed directory is above it, as is the scratch directory.
    `memory_bytes` bounds the tree's memory, looked at ten times a second, or less often where that
    would take a fiftieth of the time. `poll` is called as often; what it raises ends the command
    and is raised again. `channel` is a descriptor that the command gets as its 3.

    Raises PrerequisiteError or InfrastructureError when the command could not be confined or
    started, or did not end when killed. What the command itself does is never an exception.
    """
    if not os.path.isabs(argv[0]):
        raise ValueError(f"the program must be an absolute path, not {argv[0]!r}")
    spec = {
        "argv": list(argv),
        "env": dict(env),
        "cwd": str(cwd) if cwd is not None else None,
        "parent": os.getpid(),
        "confinement": confinement.to_json(),
    }
    with contextlib.ExitStack() as stack:
        spec_fd = _file_with(json.dumps(spec).encode(), stack)
        stdin_fd = _file_with(stdin, stack) if stdin is not None else subprocess.DEVNULL
        status_out, status_in = os.pipe2(os.O_CLOEXEC)
        status = stack.enter_context(os.fdopen(status_out, "rb"))
        passed = [spec_fd, status_in, *([channel] if channel is not None else [])]
        started = time.monotonic()
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", _LAUNCH, *map(str, passed)],
                stdin=stdin_fd,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=passed,
                env={},
                cwd="/",
                bufsize=0,
                # A terminal's Ctrl-C is for us: the launcher must outlive it to end the tree.
                start_new_session=True,
            )
        finally:
            os.close(status_in)  # its end is the launcher's end
        watch = _Watch(process, Tree(process.pid, confinement.uid), status, output_limit_bytes)
        try:
            watch.until_end(started + timeout_s, memory_bytes, poll)
        finally:
            watch.finish()
        seconds = time.monotonic() - started
        returncode = _result(status.read(), process.returncode, argv[0])
    return Completed(
        returncode=returncode,
        output_tail=watch.tail(),
        seconds=seconds,
        timed_out=watch.timed_out,
        limit=watch.limit or _BY_SIGNAL.get(returncode),
    )


class _Watch:
    """One running command: drains it, watches it, ends it."""

    def __init__(
        self, process: subprocess.Popen[bytes], tree: Tree, status: BinaryIO, keep: int
    ) -> None:
        assert process.stdout is not None
        self._process = process
        self._status = status
        self._out = process.stdout
        self._tree = tree
        self._keep = keep
        self._ring = bytearray()
        self.timed_out = False
        self.limit: Limit | None = None
        os.set_blocking(self._out.fileno(), False)

    def until_end(
        self, deadline: float, memory_bytes: int | None, poll: Callable[[], None]
    ) -> None:
        """Return when the command has ended or a bound is passed."""
        waiter = select.poll()
        waiter.register(self._status, select.POLLIN)
        waiter.register(self._out, select.POLLIN)
        look = time.monotonic()
        while True:
            now = time.monotonic()
            if now >= deadline:
                self.timed_out = True
                return
            if now >= look:
                poll()
                if memory_bytes is not None and self._tree.memory_bytes() > memory_bytes:
                    self.limit = "memory"
                    return
                # Many builders side by side must not spend their cores on looking at each other.
                took = time.monotonic() - now
                look = now + max(_LOOK_S, _LOOK_SHARE * took)
            wait_s = max(0.0, min(look, deadline) - time.monotonic())
            ready = {fd for fd, _ in waiter.poll(1e3 * wait_s)}
            if self._status.fileno() in ready:
                return
            if self._out.fileno() in ready and self._read():
                waiter.unregister(self._out)

    def finish(self) -> None:
        """Kill what is left, and take its last output."""
        try:
            self._tree.kill()
        finally:
            self._process.wait()
            self._read()
            self._out.close()

    def tail(self) -> str:
        """The last output."""
        return bytes(self._ring[-self._keep :]).decode(errors="replace")

    def _read(self) -> bool:
        """Take what is there, at most a megabyte at once; True at the end of the output."""
        for _ in range(16):
            try:
                chunk = os.read(self._out.fileno(), 1 << 16)
            except BlockingIOError:
                return False
            if not chunk:
                return True
            self._ring += chunk
            if len(self._ring) > 2 * self._keep:
                del self._ring[: -self._keep]
        return False


def _file_with(content: bytes, stack: contextlib.ExitStack) -> int:
    fd = os.memfd_create("input", os.MFD_CLOEXEC)
    stack.callback(os.close, fd)
    with open(fd, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _result(told: bytes, launcher: int, program: str) -> int:
    """The command's exit status from what the launcher told; without that, the launcher's own:
    under our own user a command can kill it."""
    if not told:
        if launcher >= 0:
            raise InfrastructureError(f"the launcher of {program} ended with status {launcher}")
        return launcher
    status = json.loads(told.splitlines()[0])  # after an error comes the status 127
    if "status" in status:
        return int(status["status"])
    if status["fix"] is not None:
        raise PrerequisiteError(status["error"], status["fix"])
    raise InfrastructureError(f"could not start {program} in the sandbox: {status['error']}")
