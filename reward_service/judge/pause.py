"""Makes a runner rest for a while: all of its threads, and all that its user runs.

A candidate has nothing to do while the reference is called; what its threads and children do then
could only take the reference's cores, and so make the candidate look fast. The reference rests
likewise while the candidate is called: a runner that waits looks at its page every 50 us, and on a
shared core that took 2 ms from each call with 8 MiB of inputs.

Without a user of its own a runner rests alone, without its children.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from reward_service.sandbox import processes

_ROUNDS = 50
_FORGET_S = 1.0


class RestlessError(Exception):
    """Processes are made faster than they can be stopped."""


class Rest:
    """The processes of one runner."""

    def __init__(self, pid: int, pidfd: int, uid: int | None) -> None:
        self._pid = pid
        self._pidfd = pidfd
        self._uid = uid
        self._strangers: set[str] = set()
        self._forget_at = 0.0

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold them; of a runner that has died, others tell. Raises `RestlessError`."""
        held = [self._pidfd]
        _send(self._pidfd, signal.SIGSTOP)
        try:
            if self._uid is not None:
                self._hold_others(self._uid, held)
            yield
        finally:
            for pidfd in reversed(held):
                _send(pidfd, signal.SIGCONT)
            for pidfd in held[1:]:
                os.close(pidfd)

    def _hold_others(self, uid: int, held: list[int]) -> None:
        seen = {self._pid}
        for _ in range(_ROUNDS):
            new = [pid for pid in self._processes(uid) if pid not in seen]
            if not new:
                return
            seen.update(new)
            for pid in new:
                with contextlib.suppress(ProcessLookupError):
                    pidfd = os.pidfd_open(pid)
                    process = processes.read(pid)
                    if process is None or uid not in process.uids:  # another has its number by now
                        os.close(pidfd)
                        continue
                    held.append(pidfd)
                    _send(pidfd, signal.SIGSTOP)
        raise RestlessError("its processes make others faster than these can be stopped")

    def _processes(self, uid: int) -> Iterator[int]:
        """What runs under a user. Who runs under another is asked once a second."""
        if time.monotonic() > self._forget_at:
            self._forget_at = time.monotonic() + _FORGET_S
            self._strangers.clear()
        for entry in os.listdir("/proc"):
            if entry.isdigit() and entry not in self._strangers:
                process = processes.read(int(entry))
                if process is not None and uid in process.uids:
                    yield process.pid
                elif process is not None:
                    self._strangers.add(entry)


def _send(pidfd: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, number)
