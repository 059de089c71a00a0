"""Puts right what went wrong between the moves; see the package's docstring.

Every API process and every worker sweeps; a key in Valkey lets one of them do it at a time.
After an outage no lease is judged for one lease's time, so that holders can renew theirs
first. A ticket that waits without being in RQ's list was taken by a worker that died before
it could claim it; it is replaced when two looks in a row find it missing, since a live worker
needs a moment for its claim. The same look mends the clients' windows.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from reward_service.errors import StoreError
from reward_service.jobs import keys
from reward_service.jobs.connection import store_errors
from reward_service.jobs.lifecycle import Lifecycle
from reward_service.jobs.queue import JobQueue

LONGEST_INTERVAL_S = 1.0


class Sweeper:
    """Call `sweep` each `interval_s`; `clock` is a monotonic one."""

    def __init__(
        self,
        lifecycle: Lifecycle,
        queue: JobQueue,
        lease_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lifecycle = lifecycle
        self._store = lifecycle.store
        self._queue = queue
        self._lease_s = lease_s
        self._clock = clock
        self.interval_s = min(LONGEST_INTERVAL_S, lease_s / 4)
        self._leases_count_from = clock() + lease_s
        self._next_look = clock()
        self._missing: set[str] = set()

    def sweep(self) -> None:
        """End what is overdue, requeue what is lost. Raises `StoreError`."""
        try:
            if self._my_turn():
                self._sweep()
        except StoreError:
            self._leases_count_from = self._clock() + self._lease_s
            raise

    def _my_turn(self) -> bool:
        turn_ms = max(1, int(self.interval_s * 900))
        with store_errors():
            return bool(self._store.client.set(keys.SWEEPING, "1", nx=True, px=turn_ms))

    def _sweep(self) -> None:
        for id in self._store.overdue():
            self._lifecycle.expire(id)
        if self._clock() >= self._leases_count_from:
            for ticket in self._store.abandoned():
                self._lifecycle.requeue(ticket)
        if self._clock() >= self._next_look:
            self._next_look = self._clock() + self._lease_s / 2
            self._look_for_missing()

    def _look_for_missing(self) -> None:
        missing: set[str] = set()
        for queue, tickets in self._store.waiting(at_least_s=self._lease_s).items():
            self._queue.mend(queue)
            if tickets:
                missing |= set(tickets) - self._queue.tickets(queue)
        for ticket in missing & self._missing:
            self._lifecycle.requeue(ticket)
        self._missing = missing
