"""The most memory that any of several processes had below it, looked at while they work.

A look reads the process table (milliseconds), so it is taken five times a second: what is there
for less may be missed. Mapped files, such as precompiled headers, are not counted, as they are
not where the sandbox limits memory; `getrusage` of the children tells of them.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable
from typing import Self

from reward_service.sandbox import processes

_EACH_S = 0.2


class MemoryWatch:
    """Inside a `with` block, looks at what runs below each of `roots`, process ids."""

    def __init__(self, roots: Iterable[int]) -> None:
        self._roots = tuple(roots)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="memory", daemon=True)
        self.peak_bytes = 0
        """The most so far below one root: anonymous and shared memory in RAM."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(_EACH_S):
            self.look()

    def look(self) -> None:
        """Look once."""
        below: dict[int, list[processes.Process]] = defaultdict(list)
        for process in processes.live():
            below[process.parent].append(process)
        for root in self._roots:
            total, waiting = 0, [root]
            while waiting:
                children = below.pop(waiting.pop(), [])
                total += sum(child.memory_bytes for child in children)
                waiting += [child.pid for child in children]
            self.peak_bytes = max(self.peak_bytes, total)
