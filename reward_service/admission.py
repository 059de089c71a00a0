"""Turns a submission into work that can be queued, or says which field stands in the way.

Everything that decides the verdict goes into the evaluation's key: the problem's text, the
candidate's program and an infill's scaffold, the policy with its device class and reward config
resolved, and this package's own code. What only concerns the client (`deadline_s`, `priority`,
`tags`) stays out of it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reward_service.digest import sha256
from reward_service.errors import RequestError
from reward_service.formats.program import resolve
from reward_service.jobs.registry import Process
from reward_service.schemas import RewardConfigRef, Submission
from reward_service.verdicts import harness_hash

if TYPE_CHECKING:
    from reward_service.problems.library import ProblemLibrary, ProblemSource
    from reward_service.rewards.book import RewardBook

ANY = "any"
CPU = "cpu"


@dataclass(frozen=True)
class Admitted:
    """A submission with everything that its names stand for."""

    submission: Submission
    """With its candidate resolved: a completion has become its program."""
    problem: ProblemSource
    reward: RewardConfigRef
    device_class: str
    candidate_hash: str
    key: str
    """SHA-256 in hex; equal keys mean equal work."""


class Admission:
    """Admits submissions against what the service has and who is alive."""

    def __init__(
        self,
        library: ProblemLibrary,
        book: RewardBook,
        alive: Callable[[], Sequence[Process]],
        known_classes: Callable[[], set[str]],
    ) -> None:
        self._library = library
        self._book = book
        self._alive = alive
        self._known_classes = known_classes

    def fleet(self) -> Sequence[Process]:
        """Who is alive: one look serves for many submissions."""
        return self._alive()

    def admit(self, submission: Submission, fleet: Sequence[Process] | None = None) -> Admitted:
        """Resolve names and device. Raises `RequestError` (422, 503) naming the field."""
        problem = self._library.resolve(submission.problem)
        reward = self._book.resolve(submission.policy.reward).ref
        device_class = self._device_class(submission, self.fleet() if fleet is None else fleet)
        candidate = resolve(submission.candidate)
        submission = submission.model_copy(update={"candidate": candidate.candidate})
        identity = {
            "problem": problem.hash,
            "candidate": candidate.identity,
            "policy": submission.policy.model_dump(mode="json", exclude={"device", "reward"}),
            "device_class": device_class,
            "reward": reward.hash,
            "harness": harness_hash(),
        }
        key = sha256(json.dumps(identity, sort_keys=True, allow_nan=False))
        return Admitted(submission, problem, reward, device_class, candidate.hash, key)

    def _device_class(self, submission: Submission, alive: Sequence[Process]) -> str:
        """The class that the work goes to; `any` only where no device is needed nor there."""
        asked = submission.policy.device
        if not any(p.kind == "builder" for p in alive):
            raise RequestError(503, "no live builder; start one with `reward-service builder`")
        live = Counter(p.device.device_class for p in alive if p.serves and p.device is not None)
        if asked == ANY:
            return self._best(live, submission)
        if asked in live:
            return asked
        there = ", ".join(sorted(live)) or "none"
        if live and asked != CPU and asked not in self._known_classes():
            message = f"no device class is named {asked!r}; live ones: {there}"
            raise RequestError(422, message, field="policy.device")
        if submission.policy.stop_after == "build":
            return asked
        message = f"no live worker serves {asked!r}; live classes: {there}"
        raise RequestError(503, message, field="policy.device")

    def _best(self, live: Counter[str], submission: Submission) -> str:
        """A GPU class before the CPU, more devices before fewer: the same for equal submissions."""
        if live:
            return min(live, key=lambda name: (name == CPU, -live[name], name))
        if submission.policy.stop_after == "build":
            return ANY
        message = "no live worker; start one with `reward-service worker --device cpu`"
        raise RequestError(503, message, field="policy.device")
