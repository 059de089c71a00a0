"""What the stages of an evaluation hand to each other.

A failing candidate is a value here, a `Finding`; a failing service is an exception
(`errors.py`). Both stages are plain functions of this shape, so that the command line, the
builder and the worker run the same code:

    build:  (Submission, problem source, Context) -> Built | Finding
    judge:  (Submission, problem source, Built, Context) -> Judgement | Finding
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from reward_service.errors import CancelledError, QueueDeadlineError
from reward_service.schemas import (
    OUTCOME_OF,
    BuildReport,
    Check,
    Outcome,
    Provenance,
    Reason,
    Speedup,
    Timing,
)


@dataclass(frozen=True)
class Finding:
    """Why a candidate got no further."""

    reason: Reason
    message: str
    checks: tuple[Check, ...] = ()
    evidence: dict[str, Any] = field(default_factory=dict)
    build: BuildReport | None = None
    """Set where the build stage found it."""

    @property
    def outcome(self) -> Outcome:
        """The outcome that the reason belongs to."""
        return OUTCOME_OF[self.reason]


class Built(BaseModel):
    """What the build stage leaves for the judge; stored as JSON beside the evaluation."""

    model_config = ConfigDict(frozen=True)

    artifacts: dict[str, str] = {}
    """Key of the extension call -> key of its module in the artifact store."""
    report: BuildReport
    compiler: str | None = None
    checks: tuple[Check, ...] = ()
    """What was checked before the build."""
    warnings: tuple[str, ...] = ()
    """What was dropped or changed, such as flags that are not on the allow-list."""


@dataclass(frozen=True)
class Judgement:
    """What the judge saw of a candidate that ran to the end and matched.

    Where `failure` is set, the candidate ran and was refused; the fields hold what was known.
    """

    failure: Finding | None = None
    checks: tuple[Check, ...] = ()
    speedup: Speedup | None = None
    reference_time_s: Timing | None = None
    candidate_time_s: Timing | None = None
    stages: dict[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None
    """The device part of the provenance; the caller adds the hashes."""


@dataclass(frozen=True)
class Context:
    """What a stage may ask while it works: how long it has, and whether anyone still waits."""

    id: str
    deadline: float
    """`time.time()` value past which the client no longer waits."""
    cancelled: Callable[[], bool] = lambda: False
    progress: Callable[[str], None] = lambda _: None
    """Tells a person what is being done; called at most a few times a stage."""

    def remaining(self) -> float:
        """Seconds left, at least 0."""
        return max(0.0, self.deadline - time.time())

    def check(self) -> None:
        """Raise if nobody waits for the answer any more."""
        if self.cancelled():
            raise CancelledError("cancelled by the client")
        if self.remaining() <= 0:
            raise QueueDeadlineError("the submission's deadline_s ended before its verdict")
