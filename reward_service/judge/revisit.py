"""Looks at an output again after later calls, as a caller does who kept it.

A program that returns the same buffer each time, or that writes later than it says, is found out.
Which outputs are looked at again is known to the program only once they are there.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from torch import Tensor

from reward_service.judge.compare import same_bits

_ONE_IN = 6
MOST_BYTES = 256 << 20
"""Larger outputs are not kept: there may be no memory for them and the next."""


class Revisit:
    """When to look, and at what; `stable` says which outputs a caller may keep."""

    def __init__(self, stable: Sequence[bool]) -> None:
        self._stable = stable
        self._seen: list[Tensor] | None = None
        self._calls_left = 0
        self._first = True

    def wants(self) -> bool:
        """Whether the next call's outputs should be kept; the first are."""
        if self._seen is not None or not any(self._stable):
            return False
        wants = self._first or secrets.randbelow(_ONE_IN) == 0
        if wants:
            # Two calls may see the same values and so look alike; three never do.
            self._calls_left = 2 if self._first else 1 + secrets.randbelow(2)
        self._first = False
        return wants

    def kept(self, outputs: list[Tensor]) -> None:
        """What the outputs were."""
        self._seen = outputs

    def due(self) -> bool:
        """Count a further call; whether it is time to look."""
        if self._seen is None:
            return False
        self._calls_left -= 1
        return self._calls_left == 0

    def changed(self, again: Sequence[Tensor]) -> int | None:
        """The first output that is not what it was, given what they are now."""
        seen, self._seen = self._seen, None
        assert seen is not None
        for index, (before, now, stable) in enumerate(zip(seen, again, self._stable, strict=True)):
            if stable and not same_bits(before, now):
                return index
        return None
