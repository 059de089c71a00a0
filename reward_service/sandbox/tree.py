"""All that came from one launched command: its memory, and its end."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterator

from reward_service.errors import InfrastructureError
from reward_service.sandbox import processes
from reward_service.sandbox.confine import LOWEST_UID
from reward_service.sandbox.uids import kill_processes

_SWEEP_S = 10.0
_PAUSE_S = 0.005


class Tree:
    """The descendants of `launcher`, a child of ours that adopts their orphans, and whatever
    else runs under `uid` (None: the command runs under our own user).
    """

    def __init__(self, launcher: int, uid: int | None) -> None:
        if uid is not None and (uid < LOWEST_UID or uid in os.getresuid()):
            raise ValueError(f"uid {uid} is a system user or our own")
        self._launcher = launcher
        self._uid = uid

    def memory_bytes(self) -> int:
        """Anonymous and shared memory in RAM, summed; memory shared by a fork counts twice."""
        return sum(p.memory_bytes for p in self._members())

    def kill(self) -> None:
        """End them all, and with that the launcher, which is left to be waited for.

        Raises InfrastructureError if something survives for ten seconds.
        """
        ended = os.pidfd_open(self._launcher)
        give_up = time.monotonic() + _SWEEP_S
        try:
            while not select.select([ended], [], [], 0)[0]:
                for process in self._members():
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(process.pid, signal.SIGKILL)
                if self._uid is not None:
                    kill_processes(self._uid)
                if time.monotonic() > give_up:
                    raise InfrastructureError(f"a command under {self._launcher} cannot be killed")
                select.select([ended], [], [], _PAUSE_S)
        finally:
            os.close(ended)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._launcher, signal.SIGKILL)
        if self._uid is not None:
            kill_processes(self._uid)

    def _members(self) -> Iterator[processes.Process]:
        everything = {p.pid: p for p in processes.live()}
        for process in everything.values():
            if self._uid in process.uids or self._is_below(process, everything):
                yield process

    def _is_below(
        self, process: processes.Process, everything: dict[int, processes.Process]
    ) -> bool:
        seen: set[int] = set()  # pids that were used again may form a ring
        above = process.parent
        while above in everything and above not in seen:
            if above == self._launcher:
                return True
            seen.add(above)
            above = everything[above].parent
        return False
