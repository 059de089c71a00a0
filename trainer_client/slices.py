"""How long a batch is waited for at a time, and how many at once.

A slice is a quarter of the time that the batch has taken so far: what is done before the rest
reaches its caller soon, and a long wait takes few requests. Waiting takes at most half of the
connections, so that there is always one for what is new; where more batches wait than there are
connections for, the slices are shortened to keep the round.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

SHORTEST_S = 0.5
LONGEST_S = 20.0
SHARE = 0.25


class Slices:
    """The slices of all batches of a client that has so many `connections`."""

    def __init__(self, connections: int) -> None:
        self._at_once = max(1, connections // 2)
        self._free = asyncio.Semaphore(self._at_once)
        self._batches = 0

    @asynccontextmanager
    async def next(self, waited_s: float) -> AsyncIterator[float]:
        """A turn to wait, and for how many seconds."""
        self._batches += 1
        try:
            async with self._free:
                crowd = max(1.0, self._batches / self._at_once)
                yield min(LONGEST_S / crowd, max(SHORTEST_S, waited_s * SHARE))
        finally:
            self._batches -= 1
