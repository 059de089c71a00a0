"""Makes a runner rest for a while: all of its threads, and all that its user runs.

A candidate has nothing to do while the reference is called; what its threads and children do then
could only take the reference's cores, and so make the candidate look fast. The reference rests
likewise while the candidate is called: a runner that waits looks at its page every 50 us, and on a
shared core that took 2 ms from each call with 8 MiB of inputs.

To be told to stop is not to rest. A signal waits for the end of a system call, and to write 2 GB
to memory takes a second; a process that is ending goes on until its memory is given back; a timer
may send the signal that makes it go on. So the other side is not called before every thread has
stopped, and nothing that rests may have used a core when it has been called: the kernel's count
of its processor time decides.

Without a user of its own a runner rests alone, without its children.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager

from reward_service.sandbox import processes

_ROUNDS = 50
_FORGET_S = 1.0
_STOP_LIMIT_S = 2.0
"""For system calls that were under way."""
_LOOK_S = 0.0002
_MOST_WORK_S = 20e-6
"""What stopping itself may still cost when it is looked at."""


class RestlessError(Exception):
    """It cannot be brought to rest, or did not stay so."""


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
        held: dict[int, int] = {}
        give_up = time.monotonic() + _STOP_LIMIT_S
        try:
            _stop(self._pid, self._pidfd, held, give_up)
            for _ in range(_ROUNDS):
                if not (new := self._others(held)):
                    break
                for pid in new:
                    self._hold_other(pid, held, give_up)
            else:
                raise RestlessError("its processes make others faster than these can be stopped")
            before = {pid: _cpu_s(pid) for pid in held}
            yield
            for pid, used in before.items():
                self._require_rest(pid, used)
            if self._others(held):
                raise RestlessError("it made processes while it was to rest")
        finally:
            for pid, pidfd in reversed(held.items()):
                _send(pidfd, signal.SIGCONT)
                if pid != self._pid:
                    os.close(pidfd)

    def _hold_other(self, pid: int, held: dict[int, int], give_up: float) -> None:
        with contextlib.suppress(ProcessLookupError):
            pidfd = os.pidfd_open(pid)
            process = processes.read(pid)
            if process is None or self._uid not in process.uids:  # another has its number by now
                os.close(pidfd)
            else:
                _stop(pid, pidfd, held, give_up)

    def _others(self, held: Container[int]) -> list[int]:
        if self._uid is None:
            return []
        return [pid for pid in self._processes(self._uid) if pid not in held]

    def _require_rest(self, pid: int, before: float | None) -> None:
        after = _cpu_s(pid)
        if before is None or after is None:
            if before != after and pid != self._pid:
                raise RestlessError(f"its process {pid} ended while it was to rest")
        elif after - before > _MOST_WORK_S:
            us = (after - before) * 1e6
            raise RestlessError(f"its process {pid} worked {us:.0f} us while it was to rest")

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


def _stop(pid: int, pidfd: int, held: dict[int, int], give_up: float) -> None:
    """Have all its threads stop. Who is stopped makes no others, so that all can be found."""
    held[pid] = pidfd
    _send(pidfd, signal.SIGSTOP)
    while not processes.at_rest(pid):
        if time.monotonic() > give_up:
            raise RestlessError(f"its process {pid} does not stop")
        time.sleep(_LOOK_S)


def _send(pidfd: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, number)


def _cpu_s(pid: int) -> float | None:
    """Processor time that all threads of a process have used; None of one that is gone."""
    try:
        return time.clock_gettime((~pid << 3) | 2)  # the kernel's name for that clock
    except OSError:
        return None
