"""The score function of verl's reward loop.

    reward.custom_reward_function.path=pkg://trainer_client.adapters.verl
    reward.custom_reward_function.name=compute_score
    +reward.custom_reward_function.reward_kwargs.url=http://rewards:8000

verl calls it once a sample, all samples of a batch at a time; the client makes batches of them.
`ground_truth` names the sample's problem, or holds its source. verl has no way to leave a sample
out, so a sample that the service could not judge raises by default. With `on_failure=flag` its
score is 0 and `infra_error` is 1: then the trainer must mask it, or it learns from an outage.

Every dictionary has the same keys, with numbers, because verl makes arrays of the first one's.
"""

from __future__ import annotations

import asyncio
from typing import Any, Literal
from weakref import WeakKeyDictionary

from reward_service.schemas import Outcome, Policy, Verdict
from trainer_client.adapters.samples import submission_of
from trainer_client.client import AsyncRewardClient
from trainer_client.errors import ServiceUnavailableError


class _Clients:
    """One client a loop and service: a function that is called for each sample can keep none."""

    def __init__(self) -> None:
        self._by_loop: WeakKeyDictionary[
            asyncio.AbstractEventLoop, dict[tuple[str, str | None], AsyncRewardClient]
        ] = WeakKeyDictionary()

    async def of(self, url: str, token: str | None) -> AsyncRewardClient:
        """The running loop's."""
        clients = self._by_loop.setdefault(asyncio.get_running_loop(), {})
        if (url, token) not in clients:
            clients[url, token] = AsyncRewardClient(url, token=token)
        return clients[url, token]


_CLIENTS = _Clients()


async def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: dict[str, Any] | None = None,
    *,
    url: str = "http://127.0.0.1:8000",
    token: str | None = None,
    deadline_s: float = 600.0,
    policy: dict[str, Any] | None = None,
    on_failure: Literal["raise", "flag"] = "raise",
    **_: Any,
) -> dict[str, float]:
    """The score of one response: `score` and what it comes from, all numbers.

    Raises `ServiceUnavailableError` where the service could not judge it, unless told to flag.
    """
    submission = submission_of(
        ground_truth,
        solution_str,
        Policy.model_validate(policy or {}),
        deadline_s,
        {"data_source": data_source},
    )
    client = await _CLIENTS.of(url, token)
    try:
        verdict = await client.evaluate(submission)
        if verdict.reward is None and verdict.outcome is Outcome.UNSCORED:
            raise ServiceUnavailableError(f"unscored/{verdict.reason}: {verdict.message}")
    except ServiceUnavailableError:
        if on_failure == "raise":
            raise
        return _numbers(None)
    return _numbers(verdict)


def _numbers(verdict: Verdict | None) -> dict[str, float]:
    speedup = None if verdict is None else verdict.speedup
    return {
        "score": 0.0 if verdict is None or verdict.reward is None else verdict.reward,
        "infra_error": float(verdict is None),
        "compiled": float(verdict is not None and verdict.compiled is True),
        "correct": float(verdict is not None and verdict.correct is True),
        "speedup": 0.0 if speedup is None else speedup.value,
        "speedup_low": 0.0 if speedup is None else speedup.low,
    }
