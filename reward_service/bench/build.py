"""Measures builds: how many a second, how long each, by which path, with how much memory.

The build stage is opened here first and builds one program of each kind, so that what is made
once (precompiled headers, bindings of common signatures) is there before the clock runs. Then
all candidates go to the builders, one at a time to each, and the clock runs from the first one
sent to the last one built.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from statistics import quantiles
from typing import Any

from reward_service.bench.builders import Builder, Row, build_once, builders
from reward_service.bench.memory import MemoryWatch
from reward_service.build.stage import BuildStage
from reward_service.settings import Settings

PERCENTILES = {"p50": 50, "p95": 95, "max": 100}

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Start:
    """What went ahead of the measurement, in seconds."""

    open_s: float
    """Opening the build stage."""
    first_builds_s: float
    precompiled: dict[str, dict[str, float]]
    """Bytes and making time of what the toolchain has, as `Precompiled.sizes` tells them."""


@dataclass(frozen=True)
class Result:
    """A measurement; seconds and bytes."""

    builders: int
    rows: tuple[Row, ...]
    wall_s: float
    peak_tree_bytes: int
    """The most that all processes of one build had together, mapped files not counted."""
    largest_process_bytes: int
    """The most that one process of a build had, mapped files counted."""

    @property
    def builds_per_s(self) -> float:
        """Over all builders."""
        return len(self.rows) / self.wall_s

    def latency_s(self, percent: int) -> float:
        """The percentile, from 1 to 100, of the builds' seconds."""
        seconds = sorted(row.seconds for row in self.rows)
        if percent == 100 or len(seconds) == 1:
            return seconds[-1]
        return quantiles(seconds, n=100, method="inclusive")[percent - 1]

    def paths(self) -> dict[str, int]:
        """Number of builds by rung and, where the split rung was left, the code of the reason."""
        return dict(Counter(_path(row) for row in self.rows).most_common())

    def failures(self) -> list[str]:
        """Messages of the candidates that were not built, of which there should be none."""
        return [row.failure for row in self.rows if row.failure is not None]

    def as_dict(self) -> dict[str, Any]:
        """All of it but the rows, for JSON."""
        return {
            "builders": self.builders,
            "builds": len(self.rows),
            "failed": len(self.failures()),
            "wall_s": self.wall_s,
            "builds_per_s": self.builds_per_s,
            "latency_s": {name: self.latency_s(percent) for name, percent in PERCENTILES.items()},
            "paths": self.paths(),
            "peak_tree_bytes": self.peak_tree_bytes,
            "largest_process_bytes": self.largest_process_bytes,
        }


def warm_up(settings: Settings, sources: Sequence[str], progress: Progress) -> tuple[Start, Result]:
    """Open the build stage in this process and build `sources`, one after the other."""
    progress("opening the build stage")
    begun = time.perf_counter()
    with BuildStage(settings) as stage:
        opened = time.perf_counter()
        progress("building one program of each kind")
        rows = tuple(build_once(stage, source) for source in sources)
    wall_s = time.perf_counter() - opened
    start = Start(opened - begun, wall_s, stage.precompiled.sizes())
    return start, Result(1, rows, wall_s, 0, 0)


def measure(settings: Settings, sources: Sequence[str], count: int, progress: Progress) -> Result:
    """Build `sources` with `count` builders at once; raises InfrastructureError if one fails."""
    progress("starting builders")
    with builders(count, settings) as workers, MemoryWatch(_pids(workers)) as memory:
        started = time.perf_counter()
        rows = _build_all(workers, sources, progress)
        wall_s = time.perf_counter() - started
        largest = max(worker.largest_process_bytes() for worker in workers)
    return Result(count, tuple(rows), wall_s, memory.peak_bytes, largest)


def _build_all(workers: Sequence[Builder], sources: Sequence[str], progress: Progress) -> list[Row]:
    waiting = list(reversed(sources))
    busy: dict[Connection, Builder] = {}
    rows: list[Row] = []

    def feed(worker: Builder) -> None:
        if waiting:
            worker.send(waiting.pop())
            busy[worker.pipe] = worker

    for worker in workers:
        feed(worker)
    while busy:
        for pipe in wait(list(busy)):
            assert isinstance(pipe, Connection)
            worker = busy.pop(pipe)
            rows.append(worker.receive())
            feed(worker)
            progress(f"built {len(rows)} of {len(sources)}")
    return rows


def _pids(workers: Sequence[Builder]) -> list[int]:
    return [worker.process.pid for worker in workers if worker.process.pid is not None]


def _path(row: Row) -> str:
    code = (row.report.fallback or "").partition(":")[0]
    return f"{row.report.path} ({code})" if code else row.report.path
