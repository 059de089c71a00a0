"""What is tried again, and when.

Tried again is what says nothing about the request: a connection that broke, 429, 502, 503, 504,
and to a wait 500.
The pause before the next try is drawn between nothing and a bound that doubles (full jitter),
so that clients who failed together do not come back together; a `Retry-After` is waited for
first. How often is not bounded here: the deadline of who waits is.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

RETRYABLE = frozenset({429, 502, 503, 504})
LARGEST_POWER = 32


@dataclass(frozen=True)
class RetryPolicy:
    """How persistent a client is."""

    first_s: float = 0.25
    """Bound of the first pause, in seconds."""
    longest_s: float = 15.0
    """Bound of any pause, in seconds."""
    unscored: int = 2
    """How often a submission is tried anew when its verdict is unscored and retryable."""


class Backoff:
    """The pauses between the tries of one thing; `draw(a, b)` is uniform.

    By default it draws from the system: a trainer that seeds `random` the same on every host
    must not make them come back together, nor its own numbers depend on what failed.
    """

    def __init__(
        self, policy: RetryPolicy, draw: Callable[[float, float], float] | None = None
    ) -> None:
        self._policy = policy
        self._draw = draw or random.SystemRandom().uniform
        self.tries = 0

    def pause_s(self, at_least_s: float = 0.0) -> float:
        """Seconds until the next try."""
        power = min(self.tries, LARGEST_POWER)
        bound = min(self._policy.longest_s, self._policy.first_s * 2**power)
        self.tries += 1
        return at_least_s + self._draw(0.0, bound)


def retry_after_s(header: str | None) -> float:
    """Seconds that a `Retry-After` asks for: a number or a date; 0 where it says nothing."""
    if header is None:
        return 0.0
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())
