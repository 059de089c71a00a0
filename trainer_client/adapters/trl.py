"""The reward function of TRL's GRPOTrainer, RLOOTrainer and AsyncGRPOTrainer.

    trainer = GRPOTrainer(..., reward_funcs=[reward_function("http://rewards:8000")])

The dataset has a column with the problem of each prompt. The completions of a step are judged
together. One that the service could not judge is `None`, which TRL (since June 2026) leaves out of
the group's statistics, with an advantage of 0; a kernel that fails has its reward, however low.

TRL runs asynchronous functions on a loop of its own, and AsyncGRPOTrainer pickles them into a
process of its own: so this is a `partial` of a coroutine function at module level, and its client
is opened where it runs, a step at a time.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from reward_service.schemas import Outcome, Policy, Submission, Verdict
from trainer_client.adapters.samples import submission_of
from trainer_client.client import AsyncRewardClient
from trainer_client.errors import ServiceUnavailableError

RewardFunction = Callable[..., Coroutine[Any, Any, list[float | None]]]


@dataclass(frozen=True)
class _Setup:
    url: str
    token: str | None
    problem_column: str
    policy: Policy
    deadline_s: float
    tags: dict[str, str] = field(default_factory=dict)


def reward_function(
    url: str,
    *,
    token: str | None = None,
    problem_column: str = "problem",
    policy: Policy | None = None,
    deadline_s: float = 600.0,
    tags: dict[str, str] | None = None,
) -> RewardFunction:
    """A reward function for `reward_funcs`.

    `problem_column`: the dataset's column that names each prompt's problem, or holds its source.
    `deadline_s`: seconds within which a step's completions are judged, or left out.
    """
    setup = _Setup(url, token, problem_column, policy or Policy(), deadline_s, tags or {})
    return partial(kernel_reward, setup)


async def kernel_reward(
    setup: _Setup,
    prompts: Sequence[object],
    completions: Sequence[object],
    log_metric: Callable[[str, float], None] | None = None,
    log_extra: Callable[[str, list[Any]], None] | None = None,
    **columns: Sequence[Any],
) -> list[float | None]:
    """What TRL calls, and by whose name it calls its metrics."""
    if setup.problem_column not in columns:
        there = ", ".join(sorted(columns))
        raise ValueError(f"the dataset has no column {setup.problem_column!r}; it has {there}")
    submissions = [
        submission_of(problem, completion, setup.policy, setup.deadline_s, setup.tags)
        for problem, completion in zip(columns[setup.problem_column], completions, strict=True)
    ]
    verdicts = await _judge(setup, submissions)
    outcomes = [Outcome.UNSCORED if v is None else v.outcome for v in verdicts]
    if log_metric is not None:
        # Every rank must log the same names, so none is left out.
        for outcome, count in {**dict.fromkeys(Outcome, 0), **Counter(outcomes)}.items():
            log_metric(f"outcome/{outcome}", count / len(outcomes))
    if log_extra is not None:
        log_extra("outcome", [str(outcome) for outcome in outcomes])
        log_extra(
            "reason", ["" if v is None or v.reason is None else str(v.reason) for v in verdicts]
        )
        log_extra("speedup", [_speedup(v) for v in verdicts])
    return [None if verdict is None else verdict.reward for verdict in verdicts]


async def _judge(setup: _Setup, submissions: Sequence[Submission]) -> list[Verdict | None]:
    """The verdicts; None where the service could not be reached in time."""

    async def one(client: AsyncRewardClient, submission: Submission) -> Verdict | None:
        try:
            return await client.evaluate(submission)
        except ServiceUnavailableError:
            return None

    async with AsyncRewardClient(setup.url, token=setup.token) as client:
        return list(await asyncio.gather(*(one(client, each) for each in submissions)))


def _speedup(verdict: Verdict | None) -> float | None:
    return None if verdict is None or verdict.speedup is None else verdict.speedup.value
