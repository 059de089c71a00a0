"""How fast evaluations end, and so how long a refused client should stay away."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable

WINDOW_S = 60.0
UNKNOWN_S = 10
LONGEST_S = 60
SHARE = 0.1


class ServiceRate:
    """Ends per second over the last minute. Used by one thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ends: deque[float] = deque()

    def ended(self) -> None:
        """An evaluation ended."""
        self._ends.append(self._clock())
        self._forget()

    def retry_after_s(self, max_queued: int) -> int:
        """Seconds until about a tenth of a full queue has been served: 1 to 60."""
        self._forget()
        if not self._ends:
            return UNKNOWN_S
        span = max(1.0, self._clock() - self._ends[0])
        seconds = max(1.0, max_queued * SHARE) * span / len(self._ends)
        return min(LONGEST_S, max(1, math.ceil(seconds)))

    def _forget(self) -> None:
        horizon = self._clock() - WINDOW_S
        while self._ends and self._ends[0] < horizon:
            self._ends.popleft()
