"""What is done with a claimed evaluation: the two stages, wrapped so that they give verdicts.

A step returns a verdict, or `Built` where the evaluation goes on to a device. It imports
neither stage: the command line hands them in.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

from reward_service import verdicts
from reward_service.build.program_stage import Build, build_program
from reward_service.errors import InfrastructureError
from reward_service.findings import Built, Context, Finding, Judgement
from reward_service.jobs.record import Record
from reward_service.rewards.book import RewardBook, RewardConfig
from reward_service.schemas import Submission, Verdict

Judge: TypeAlias = Callable[[Submission, str, Built, Context], Judgement]
"""The judge stage; the string is the reference's source."""
Step: TypeAlias = Callable[[Record, Context], Built | Verdict]


def build_step(build: Build, book: RewardBook) -> Step:
    """The builder's step; it ends in a verdict if the build fails or the policy stops there."""

    def step(record: Record, context: Context) -> Built | Verdict:
        reward = _reward(record, book)
        started = time.monotonic()
        made = build_program(build, record.submission, record.problem, context)
        stages = _stages(record, "build", started)
        if isinstance(made, Finding):
            return verdicts.of_finding(record.subject, reward, made, stages=stages)
        if record.submission.policy.stop_after == "build":
            return verdicts.of_built(record.subject, made, stages=stages)
        return made

    return step


def judge_step(judge: Judge, book: RewardBook) -> Step:
    """The worker's step; it always ends in a verdict."""

    def step(record: Record, context: Context) -> Verdict:
        reward = _reward(record, book)
        started = time.monotonic()
        judgement = judge(record.submission, record.problem, record.built, context)
        stages = _stages(record, "judge", started)
        return verdicts.of_judgement(record.subject, reward, record.built, judgement, stages=stages)

    return step


def _stages(record: Record, stage: str, started: float) -> dict[str, float]:
    """Seconds by stage so far; `total` is on the wall clock, from acceptance."""
    total = max(0.0, time.time() - record.created)
    return {**record.stages, stage: time.monotonic() - started, "total": total}


def _reward(record: Record, book: RewardBook) -> RewardConfig:
    """The config that the submission was admitted with, or an error if this host differs."""
    config = book.resolve(record.reward.name)
    if config.ref.hash != record.reward.hash:
        message = f"reward config {record.reward} is another here than where it was admitted"
        raise InfrastructureError(f"{message}; give all hosts the same reward file")
    return config
