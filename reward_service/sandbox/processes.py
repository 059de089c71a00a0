"""Reads the process table: who runs, for whom, below whom, with how much memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass


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
        with open(f"/proc/{pid}/status", "rb") as file:
            fields = dict(line.split(b":", 1) for line in file.read().splitlines() if b":" in line)
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The command may hold spaces and parentheses; the numbers follow the last one.
            numbers = file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    if numbers[0] in (b"Z", b"X"):
        return None
    return Process(
        pid=pid,
        parent=int(numbers[1]),
        started=int(numbers[19]),
        uids=frozenset(int(u) for u in fields[b"Uid"].split()[:3]),
        memory_bytes=_kib(fields, b"RssAnon") + _kib(fields, b"RssShmem"),
    )


def _kib(fields: dict[bytes, bytes], name: bytes) -> int:
    value = fields.get(name)  # a kernel thread has none
    return int(value.split()[0]) << 10 if value is not None else 0
