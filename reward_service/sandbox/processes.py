"""Reads the process table: who runs, for whom, below whom, with how much memory."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

_MOST_BYTES = 1 << 16
_STOPPED, _ENDED = (b"T", b"t"), (b"Z", b"X")
_UIDS = re.compile(rb"\nUid:\t(\d+)\t(\d+)\t(\d+)")
_MEMORY = re.compile(rb"\nRss(?:Anon|Shmem):\s+(\d+) kB")  # a kernel thread has none


@dataclass(frozen=True)
class Process:
    """One live process, as `/proc` told it.

    A zombie is not live. A process whose first thread has ended looks like one, but goes on.
    """

    pid: int
    parent: int
    started: int
    """Clock ticks since boot; with `pid` it names a process for good."""
    uids: frozenset[int]
    """Real, effective and saved user."""
    memory_bytes: int
    """Anonymous and shared memory in RAM; mapped files are not counted."""


def live() -> Iterator[Process]:
    """Every live process of this process's pid namespace."""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            found = read(int(entry))
            if found is not None:
                yield found


def read(pid: int) -> Process | None:
    """The process, or None if it is a zombie or has ended."""
    try:
        status = _whole(f"/proc/{pid}/status")
        numbers = _stat(f"/proc/{pid}/stat")
        if numbers[0] in _ENDED:
            if int(numbers[17]) <= 1:
                return None
            # The first thread has given up its memory; the others have it still.
            status = max((status, *_statuses(pid)), key=_memory)
    except (FileNotFoundError, ProcessLookupError):
        return None
    uids = _UIDS.search(status)
    assert uids is not None
    return Process(
        pid=pid,
        parent=int(numbers[1]),
        started=int(numbers[19]),
        uids=frozenset(map(int, uids.groups())),
        memory_bytes=_memory(status),
    )


def at_rest(pid: int) -> bool:
    """Whether every thread of the process is stopped, or has ended."""
    try:
        return all(_stat(f"{path}/stat")[0] in _STOPPED + _ENDED for path in _threads(pid))
    except (FileNotFoundError, ProcessLookupError):  # of a thread, or of them all
        return not os.path.exists(f"/proc/{pid}")


def _threads(pid: int) -> list[str]:
    folder = f"/proc/{pid}/task"
    return [f"{folder}/{name}" for name in os.listdir(folder)]


def _statuses(pid: int) -> Iterator[bytes]:
    for path in _threads(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            yield _whole(f"{path}/status")


def _stat(path: str) -> list[bytes]:
    """State, parent and so on; the command before them may hold spaces and parentheses."""
    return _whole(path).rpartition(b")")[2].split(maxsplit=20)


def _memory(status: bytes) -> int:
    return sum(map(int, _MEMORY.findall(status))) << 10


def _whole(path: str) -> bytes:
    # Each command of a build looks at all processes ten times a second: a file object's own cost
    # is several times that of the read.
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, _MOST_BYTES)
    finally:
        os.close(fd)
