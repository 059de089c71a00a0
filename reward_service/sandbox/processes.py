"""Reads the process table: who runs, for whom, below whom, with how much memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

_MOST_BYTES = 1 << 16
_UIDS = re.compile(rb"\nUid:\t(\d+)\t(\d+)\t(\d+)")
_MEMORY = re.compile(rb"\nRss(?:Anon|Shmem):\s+(\d+) kB")  # a kernel thread has none


@dataclass(frozen=True)
class Process:
    """One live process, as `/proc` told it; a zombie is not live."""

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
        # The command may hold spaces and parentheses; the numbers follow the last one.
        numbers = _whole(f"/proc/{pid}/stat").rpartition(b")")[2].split(maxsplit=20)
    except (FileNotFoundError, ProcessLookupError):
        return None
    if numbers[0] in (b"Z", b"X"):
        return None
    uids = _UIDS.search(status)
    assert uids is not None
    return Process(
        pid=pid,
        parent=int(numbers[1]),
        started=int(numbers[19]),
        uids=frozenset(map(int, uids.groups())),
        memory_bytes=sum(map(int, _MEMORY.findall(status))) << 10,
    )


def _whole(path: str) -> bytes:
    # Each command of a build looks at all processes ten times a second: a file object's own cost
    # is several times that of the read.
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, _MOST_BYTES)
    finally:
        os.close(fd)
