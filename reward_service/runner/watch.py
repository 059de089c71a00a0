"""Watching calls: what the time of each goes to, told in activities.

A watched call is like any other, in the same process. What is told here is believed only where it
speaks against the program: it tells the judge how much of the time was not its own. The kinds of
activities:

    function   a function of a built module, without what the library does inside (CPU)
    operator   one of the library's operators (CPU)
    kernel     any kernel, the program's own included: the judge knows these by name (GPU)
    copy       a copy or a filling of memory
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Set
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from reward_service.runner.window import Window

MAX_NAME = 1_000
MAX_ACTIVITIES = 200
MAX_CALLS = 3
_MAX_TITLE = 200


@dataclass
class Tally:
    """What one call did: nanoseconds by kind, name and registers (of kernels)."""

    busy_ns: int = 0
    """How long the call was at work: on a GPU, how long the device was."""
    events: int = 0
    """How much there was to watch, which takes time of its own."""
    seen: dict[tuple[str, str, int], int] = field(default_factory=lambda: defaultdict(int))

    def add(self, kind: str, name: str, ns: int, registers: int = 0) -> None:
        """Note one activity."""
        self.seen[kind, name[:MAX_NAME], registers] += ns

    def as_json(self, title: Callable[[str], str]) -> dict[str, Any]:
        """The biggest activities; `title` makes a name readable."""
        biggest = sorted(self.seen.items(), key=lambda item: item[1], reverse=True)
        activities = [
            {
                "kind": kind,
                "name": name,
                "title": title(name)[:_MAX_TITLE],
                "registers": registers,
                "ns": ns,
            }
            for (kind, name, registers), ns in biggest[:MAX_ACTIVITIES]
        ]
        return {"busy_ns": self.busy_ns, "events": self.events, "activities": activities}


class Watch(Protocol):
    """What differs between devices."""

    def prepare(self) -> None:
        """Get ready, ahead of what a call does untimed."""
        ...

    def time(self, window: Window, call: Callable[[], Any]) -> tuple[Any, int]:
        """Time a call, and note what its time went to."""
        ...

    def report(self) -> list[dict[str, Any]]:
        """What the calls since the last report did, one by one: the latest few."""
        ...


def open_watch(device: torch.device, own: Set[str], library: Set[str]) -> Watch:
    """The watch of a device.

    `own`: the operators that the program's modules registered; `library`: those that there were
    before the program.
    """
    if device.type == "cpu":
        from reward_service.runner.watch_cpu import CpuWatch

        return CpuWatch(own, library)
    from reward_service.runner.watch_cuda import CudaWatch

    return CudaWatch()
