"""Builder processes of a measurement: each the real build stage, fed over a pipe.

A child builds what it is sent and ends when its pipe closes, which is also when the parent is
gone.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from reward_service.build.stage import BuildStage
from reward_service.errors import InfrastructureError, RewardServiceError
from reward_service.findings import Built, Context, Finding
from reward_service.schemas import BuildReport, Candidate, Problem, Submission
from reward_service.settings import Settings

_PROBLEM = "def get_init_inputs(): return []"
_PATIENCE_S = 3_600.0
_LARGEST_PROCESS = "largest process"


@dataclass(frozen=True)
class Row:
    """One build."""

    seconds: float
    """Of the whole stage."""
    made: Built | Finding

    @property
    def report(self) -> BuildReport:
        """How it was made."""
        report = self.made.report if isinstance(self.made, Built) else self.made.build
        return report or BuildReport(path="none")

    @property
    def failure(self) -> str | None:
        """What was wrong with the candidate; None: there is a module."""
        made = self.made
        return None if isinstance(made, Built) else f"{made.reason}: {made.message}"


@dataclass(frozen=True)
class Builder:
    """One process, as the parent sees it."""

    process: SpawnProcess
    pipe: Connection

    def send(self, source: str) -> None:
        """Have it build a candidate; `receive` gives the row, or raises if it has died."""
        with contextlib.suppress(BrokenPipeError):
            self.pipe.send(source)

    def receive(self) -> Row:
        """What came of what was sent. Raises InfrastructureError if that is no build."""
        row = self._answer()
        assert isinstance(row, Row)
        return row

    def ready(self) -> None:
        """Wait until its stage is open; raises likewise."""
        self._answer()

    def largest_process_bytes(self) -> int:
        """Memory, mapped files included, of the largest single process that it ran."""
        self.send(_LARGEST_PROCESS)
        return int(self._answer())

    def _answer(self) -> Any:
        try:
            answer = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            raise InfrastructureError("a builder died; its reason is on stderr") from None
        if isinstance(answer, str):
            raise InfrastructureError(f"a builder failed: {answer}")
        return answer


@contextmanager
def builders(count: int, settings: Settings) -> Iterator[list[Builder]]:
    """So many builders, ready; they are ended with the block."""
    context = multiprocessing.get_context("spawn")
    started: list[Builder] = []
    try:
        for _ in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, settings), daemon=True)
            process.start()
            theirs.close()
            started.append(Builder(process, ours))
        for builder in started:
            builder.ready()
        yield started
    finally:
        for builder in started:
            builder.pipe.close()
            builder.process.terminate()
        for builder in started:
            builder.process.join()


def build_once(stage: BuildStage, source: str) -> Row:
    """Build a candidate; errors of the service are raised."""
    submission = Submission(problem=Problem(source=_PROBLEM), candidate=Candidate(source=source))
    context = Context("bench", time.time() + _PATIENCE_S)
    started = time.perf_counter()
    made = stage(submission, _PROBLEM, context)
    return Row(time.perf_counter() - started, made)


def _serve(pipe: Connection, settings: Settings) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C: the parent ends us
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        with BuildStage(settings) as stage:
            pipe.send(None)
            while True:
                asked = pipe.recv()
                if asked == _LARGEST_PROCESS:
                    pipe.send(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10)
                else:
                    pipe.send(build_once(stage, asked))
    except EOFError:
        return
    except RewardServiceError as error:
        pipe.send(str(error))
