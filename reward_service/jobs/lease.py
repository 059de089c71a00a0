"""Holds the lease of a ticket while its stage works, and hears when nobody needs it any more.

A stage that does not stop although its evaluation has ended would hold its process for ever.
Past `STUCK_S` the process is given up: it exits at once and whoever supervises it starts
another. Nothing is lost by that, because the evaluation has its verdict, or another ticket.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from typing import Self

from reward_service.jobs.lifecycle import Lifecycle
from reward_service.jobs.repeating import Repeating

log = logging.getLogger(__name__)

STUCK_S = 60.0
LONGEST_BEAT_S = 0.5
EXIT_STUCK = 70


class Lease:
    """Renews the lease of `ticket` inside a `with` block."""

    def __init__(
        self,
        lifecycle: Lifecycle,
        ticket: str,
        owner: str,
        lease_s: float,
        stuck_s: float = STUCK_S,
        give_up: Callable[[int], object] = os._exit,
    ) -> None:
        self._lifecycle = lifecycle
        self._ticket = ticket
        self._owner = owner
        self._stuck_s = stuck_s
        self._give_up = give_up
        self._void_since: float | None = None
        beat_s = min(LONGEST_BEAT_S, lease_s / 4)
        self._beat = Repeating(f"lease of {ticket}", beat_s, self._renew)

    def void(self) -> bool:
        """Whether the evaluation has ended or gone to another worker."""
        return self._void_since is not None

    def __enter__(self) -> Self:
        self._beat.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._beat.__exit__()

    def _renew(self) -> None:
        if self._void_since is None:
            if not self._lifecycle.renew(self._ticket, self._owner):
                self._void_since = time.monotonic()
        elif time.monotonic() - self._void_since > self._stuck_s:
            log.critical("%s goes on %g s after its end; giving up", self._ticket, self._stuck_s)
            self._give_up(EXIT_STUCK)
