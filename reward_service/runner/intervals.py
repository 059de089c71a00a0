"""Stretches of time that may overlap."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable


class Union:
    """The time in which at least one of several stretches (start, end) runs."""

    def __init__(self, stretches: Iterable[tuple[int, int]]) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        for start, end in sorted(stretches):
            if self.ends and start <= self.ends[-1]:
                self.ends[-1] = max(end, self.ends[-1])
            else:
                self.starts.append(start)
                self.ends.append(end)

    @property
    def length(self) -> int:
        """All of it."""
        return sum(self.ends) - sum(self.starts)

    def overlap(self, start: int, end: int) -> int:
        """How much of it lies between two points."""
        first, last = bisect_right(self.ends, start), bisect_left(self.starts, end)
        pairs = zip(self.starts[first:last], self.ends[first:last], strict=True)
        return sum(min(theirs, end) - max(ours, start) for ours, theirs in pairs)
