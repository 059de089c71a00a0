"""The client against the real service, while parts of it die."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from service_harness import Api, Fleet, submission

from reward_service.schemas import Outcome, Policy, Reason, Submission, Verdict
from trainer_client.blocking import RewardClient
from trainer_client.client import AsyncRewardClient
from trainer_client.errors import RequestRefusedError

WITHIN_S = 60.0


def named(name: str, **stages: object) -> Submission:
    return Submission.model_validate(submission(name, **stages))  # type: ignore[arg-type]


@pytest.fixture
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A fleet that a test may break."""
    with Fleet(tmp_path_factory.mktemp("own"), max_attempts=9) as fleet:
        yield fleet


def test_the_blocking_client_gets_what_the_service_says(api: Api) -> None:
    with RewardClient(api.url) as client:
        right = named("client right")
        wrong = named("client wrong", judge=[["fail", "MISMATCH"]])
        lost = named("client lost", judge=[["fail", "BAD_PROBLEM"]])
        got = client.evaluate_many([right, wrong, lost, right])
        assert [v.reason for v in got] == [None, Reason.MISMATCH, Reason.BAD_PROBLEM, None]
        assert got[0] == got[3] == client.evaluate(right)
        assert got[2].reward is None
        bad = Submission(
            problem=right.problem, candidate=right.candidate, policy=Policy(reward="none_such")
        )
        with pytest.raises(RequestRefusedError) as caught:
            client.evaluate_many([right, bad])
        assert [field for field, _ in caught.value.fields] == ["submissions.1.policy.reward"]
        assert client.devices()[0].device_class == "cpu"
        assert client.rewards()
        assert isinstance(client.problems(), list)


def test_a_batch_outlives_the_api_a_worker_and_valkey(own: Fleet) -> None:
    parts = own.start_both()
    reasons = [None, "MISMATCH", "EXCEPTION", None]
    many = [
        named(
            f"outlives {n}",
            judge=[["gate", f"n{n}"]] * (n in (40, 80, 120))
            + [["fail", reason] for reason in [reasons[n % 4]] if reason],
        )
        for n in range(200)
    ]

    apis = [Api(own.settings).__enter__()]

    def break_things() -> None:
        own.entered("n40")
        apis[0].stop()
        own.open("n40")
        apis.append(Api(own.settings, port=apis[0].port).__enter__())
        own.entered("n80")
        parts["worker"].kill()
        own.open("n80")
        own.start("worker")
        own.entered("n120")
        own.valkey.stop()
        own.valkey.start()
        own.open("n120")

    async def run() -> list[Verdict]:
        async with AsyncRewardClient(apis[0].url) as client:
            call = asyncio.create_task(client.evaluate_many(many))
            await asyncio.to_thread(break_things)
            return await asyncio.wait_for(call, WITHIN_S)

    try:
        verdicts = asyncio.run(run())
    finally:
        for api in apis:
            api.stop()
    for n, verdict in enumerate(verdicts):
        assert verdict.reason == reasons[n % 4], (n, verdict)
        assert (verdict.outcome is Outcome.CORRECT) == (reasons[n % 4] is None)
        assert own.runs("build", verdict.id) == 1
    again = [own.runs("judge", verdict.id) - 1 for verdict in verdicts]
    assert sum(again) <= 2, "only what the dead worker held, or Valkey's end cut off"
