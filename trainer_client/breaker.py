"""A circuit breaker: when something fails again and again, leave it alone for a while.

Closed, it lets everyone pass. After `failures` consecutive failures it opens: everyone waits.
When its time is over it is half-open: one passes as a probe, whose success closes it and whose
failure opens it again, for twice as long. A success always closes it, whoever had it. Used by
one event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class BreakerPolicy:
    """When a breaker opens, and for how long."""

    failures: int = 5
    """Consecutive failures that open it."""
    open_s: float = 1.0
    """Seconds that it is open at first; doubled by each probe that fails."""
    longest_open_s: float = 60.0


class Pass:
    """A leave to try; say `succeeded` or `failed` as it becomes known."""

    def __init__(self, breaker: Breaker, probe: bool) -> None:
        self._breaker = breaker
        self.probe = probe

    def succeeded(self) -> None:
        """It works: no failure so far counts any more."""
        self._breaker._close()

    def failed(self, why: str) -> None:
        """One more failure."""
        self._breaker._failure(self, why)


class Breaker:
    """Passes are given by `passage`; `now` gives monotonic seconds."""

    def __init__(self, policy: BreakerPolicy, now: Callable[[], float]) -> None:
        self._policy = policy
        self._now = now
        self._failures = 0
        self._open_until: float | None = None
        self._open_s = policy.open_s
        self._probe: Pass | None = None
        self._changed = asyncio.Event()
        self.last = ""
        """The last failure."""

    @property
    def is_open(self) -> bool:
        """Whether anyone who comes now has to wait."""
        return self._open_until is not None

    @asynccontextmanager
    async def passage(self, waiting: Callable[[str], None]) -> AsyncIterator[Pass]:
        """Wait until one may pass; `waiting` is told why, when that is not at once."""
        given = await self._admit(waiting)
        try:
            yield given
        finally:
            if self._probe is given:  # it ended without an answer: the next one may probe
                self._probe = None
                self._notify()

    async def _admit(self, waiting: Callable[[str], None]) -> Pass:
        while self._open_until is not None:
            left = self._open_until - self._now()
            if left <= 0 and self._probe is None:
                self._probe = Pass(self, probe=True)
                return self._probe
            waiting(f"{self._failures} failures in a row, the last: {self.last}")
            changed = self._changed
            timeout = left if self._probe is None else None
            try:
                await asyncio.wait_for(changed.wait(), timeout)
            except TimeoutError:
                continue
        return Pass(self, probe=False)

    def _failure(self, given: Pass, why: str) -> None:
        self._failures += 1
        self.last = why
        if self._open_until is None and self._failures >= self._policy.failures:
            self._open_until = self._now() + self._open_s
        elif self._probe is given:
            self._probe = None
            self._open_s = min(self._open_s * 2, self._policy.longest_open_s)
            self._open_until = self._now() + self._open_s
            self._notify()

    def _close(self) -> None:
        self._failures = 0
        self._open_s = self._policy.open_s
        self._probe = None
        if self._open_until is not None:
            self._open_until = None
            self._notify()

    def _notify(self) -> None:
        """Wake everyone who waits to look again."""
        self._changed.set()
        self._changed = asyncio.Event()
