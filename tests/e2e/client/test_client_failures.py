"""What a caller gets from a service that fails: the verdict late, or an error that says why."""

from __future__ import annotations

import asyncio
import time

import pytest
from client_service import NOWHERE, Answer, FakeService, eventually, in_loop, problem, submission

from reward_service.schemas import Outcome, Policy, Reason, Verdict
from trainer_client.breaker import BreakerPolicy
from trainer_client.client import AsyncRewardClient
from trainer_client.errors import ServiceUnavailableError
from trainer_client.retrying import RetryPolicy

QUICK = RetryPolicy(first_s=0.01, longest_s=0.05)
PATIENT = BreakerPolicy(failures=1_000)
NERVOUS = BreakerPolicy(failures=3, open_s=0.3)


def quick(service: FakeService, **options: object) -> AsyncRewardClient:
    given = {"retry": QUICK, "breaker": PATIENT, "margin_s": 5.0, **options}
    return AsyncRewardClient(service.url, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("status", [429, 502, 503, 504])
@in_loop
async def test_a_passing_failure_is_tried_again_under_the_same_key(status: int) -> None:
    async with FakeService() as service, quick(service) as client:
        service.answers.extend([problem(status, "not now")] * 3)
        assert (await client.evaluate(submission("a"))).message == "a"
        assert len(service.posts) == 4
        assert len({seen.key for seen in service.posts}) == 1
        assert service.work == {"a": 1}


@in_loop
async def test_a_refused_connection_is_tried_again() -> None:
    async with FakeService() as service, quick(service) as client:
        await service.stop()
        call = asyncio.create_task(client.evaluate(submission("a", deadline_s=30)))
        await asyncio.sleep(0.1)
        await service.start()
        assert (await call).message == "a"
        sent = service.posts[0].submissions[0]["deadline_s"]
        assert sent < 29.9, "nothing of it had arrived, so the deadline may shrink"


@pytest.mark.parametrize("then", ["drop", "lose"])
@in_loop
async def test_an_answer_that_breaks_off_starts_nothing_twice(then: str) -> None:
    async with FakeService() as service, quick(service) as client:
        service.answers.extend([Answer(then=then)] * 2)
        assert (await client.evaluate(submission("a"))).message == "a"
        assert len(service.posts) == 3
        assert len({seen.key for seen in service.posts}) == 1
        assert service.work == {"a": 1}


@in_loop
async def test_a_service_that_hangs_is_asked_again() -> None:
    async with FakeService() as service, quick(service, answer_s=0.2) as client:
        service.answers.append(Answer(then="hang"))
        assert (await client.evaluate(submission("a"))).message == "a"
        assert len(service.posts) == 2


@in_loop
async def test_retry_after_is_honoured() -> None:
    async with FakeService() as service, quick(service) as client:
        service.answers.append(problem(429, "full", retry_after="1"))
        await client.evaluate(submission("a"))
        first, second = service.posts
        assert 1.0 <= second.at - first.at < 2.0


@in_loop
async def test_a_batch_is_found_again_after_a_restart() -> None:
    async with FakeService() as service, quick(service) as client:
        service.held = {f"s{n}" for n in range(200)}
        many = [submission(source) for source in sorted(service.held)]
        call = asyncio.create_task(client.evaluate_many(many))
        await eventually(lambda: service.gets, "a wait")
        for left in (100, 0):
            await service.stop()
            service.held = set(sorted(service.held)[:left])
            seen = len(service.gets)
            await service.start()
            await eventually(lambda seen=seen: len(service.gets) > seen, "another wait")
        assert [v.message for v in await call] == [s.candidate.source for s in many]
        assert len(service.posts) == 1
        assert set(service.work.values()) == {1}


@in_loop
async def test_what_a_restart_lost_is_submitted_again_under_the_same_key() -> None:
    async with FakeService() as service, quick(service) as client:
        service.held = {"a", "b"}
        call = asyncio.create_task(client.evaluate_many([submission("a"), submission("b")]))
        await eventually(lambda: service.gets, "a wait")
        service.held = {"b"}
        await eventually(lambda: len(service.gets) > 1, "the verdict of one")
        await service.stop()
        service.lose_store()
        service.held = set()
        await service.start()
        assert [v.message for v in await call] == ["a", "b"]
        assert len({seen.key for seen in service.posts}) == 1
        assert service.posts[1].sources == ["b"], "what is known is not asked again"


@in_loop
async def test_a_key_that_stands_for_another_body_is_replaced() -> None:
    async with FakeService() as service, quick(service) as client:
        service.held = {"a"}
        call = asyncio.create_task(client.evaluate(submission("a")))
        await eventually(lambda: service.gets, "a wait")
        service.batches.clear()
        service.keys = {key: ("another content", id) for key, (_, id) in service.keys.items()}
        service.held = set()
        assert (await call).message == "a"
        keys = [seen.key for seen in service.posts]
        assert len(keys) == 3
        assert keys[0] == keys[1] != keys[2]


@in_loop
async def test_a_device_that_is_missing_concerns_those_who_ask_for_it() -> None:
    async with FakeService() as service, quick(service, breaker=NERVOUS, margin_s=0.2) as client:
        missing = Policy(device=NOWHERE)
        lost = submission("lost", policy=missing, deadline_s=0.5)
        calls = [client.evaluate(s) for s in (submission("a"), lost, submission("b"))]
        a, refused, b = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(a, Verdict)
        assert isinstance(b, Verdict)
        assert isinstance(refused, ServiceUnavailableError)
        assert "no worker serves it" in str(refused)
        started = time.monotonic()
        assert (await client.evaluate(submission("c"))).message == "c"
        assert time.monotonic() - started < 0.2, "no breaker is open"


@in_loop
async def test_a_batch_for_which_there_is_no_room_goes_in_parts() -> None:
    async with FakeService() as service, quick(service) as client:
        service.room = 3
        many = [submission(f"s{n}") for n in range(20)]
        assert [v.message for v in await client.evaluate_many(many)] == [f"s{n}" for n in range(20)]
        assert set(service.work.values()) == {1}


@in_loop
async def test_the_overall_deadline_holds_and_the_error_says_what_was_seen() -> None:
    async with FakeService() as service, quick(service, margin_s=0.3) as client:
        service.always = problem(503, "the store is away")
        started = time.monotonic()
        with pytest.raises(ServiceUnavailableError, match="the store is away"):
            await client.evaluate(submission("a", deadline_s=0.4))
        assert 0.7 <= time.monotonic() - started < 1.5
        with pytest.raises(ServiceUnavailableError, match="the store is away"):
            await client.devices()


@in_loop
async def test_a_deadline_while_the_service_works_says_so_and_gives_the_work_up() -> None:
    async with FakeService() as service, quick(service, margin_s=0.2) as client:
        service.held = {"a"}
        with pytest.raises(ServiceUnavailableError, match="accepted as batch"):
            await client.evaluate(submission("a", deadline_s=0.2))
        await eventually(lambda: service.given_up, "the end of the batch")


@in_loop
async def test_a_deadline_that_the_service_keeps_is_a_verdict() -> None:
    async with FakeService() as service, quick(service) as client:
        verdict = await client.evaluate(submission("unscored 9 QUEUE_DEADLINE a", deadline_s=0.01))
        assert (verdict.outcome, verdict.reason) == (Outcome.UNSCORED, Reason.QUEUE_DEADLINE)
        assert verdict.reward is None
        assert len(service.posts) == 1


@in_loop
async def test_an_unscored_verdict_is_tried_anew_under_a_new_key() -> None:
    async with FakeService() as service, quick(service) as client:
        verdict = await client.evaluate(submission("unscored 2 WORKER_LOST a"))
        assert verdict.outcome is Outcome.CORRECT
        assert len({seen.key for seen in service.posts}) == 3


@in_loop
async def test_an_unscored_verdict_is_the_answer_after_a_few_tries() -> None:
    async with FakeService() as service, quick(service) as client:
        verdict = await client.evaluate(submission("unscored 9 WORKER_LOST a"))
        assert (verdict.outcome, verdict.reward) == (Outcome.UNSCORED, None)
        assert len(service.posts) == 3


@in_loop
async def test_an_unscored_verdict_that_is_final_is_not_tried_anew() -> None:
    async with FakeService() as service, quick(service) as client:
        verdict = await client.evaluate(submission("unscored 9 BAD_PROBLEM a"))
        assert verdict.reason is Reason.BAD_PROBLEM
        assert len(service.posts) == 1


@pytest.mark.parametrize(
    "answer",
    [
        problem(500, "a bug"),
        Answer(200, body=b"<html>hello</html>"),
        Answer(200, body=b'{"id": "a", "total": 0, "done": 0, "verdicts": []}'),
        Answer(307, {"Location": "/elsewhere"}),
    ],
)
@in_loop
async def test_an_answer_that_makes_no_sense_is_an_error_at_once(answer: Answer) -> None:
    async with FakeService() as service, quick(service) as client:
        service.always = answer
        with pytest.raises(ServiceUnavailableError, match="/evaluate/batch was answered with"):
            await client.evaluate(submission("a"))
        assert len(service.requests) == 1


@in_loop
async def test_a_wait_that_a_dying_server_answers_with_500_is_tried_again() -> None:
    async with FakeService() as service, quick(service) as client:
        service.held = {"a"}
        call = asyncio.create_task(client.evaluate(submission("a")))
        await eventually(lambda: service.gets, "a wait")
        service.answers.append(Answer(500, body=b"Internal Server Error"))
        await eventually(lambda: len(service.gets) > 1, "another wait")
        service.held = set()
        assert (await call).message == "a"


@pytest.mark.parametrize("failure", [problem(503, "away"), Answer(then="drop")])
@in_loop
async def test_an_open_breaker_sends_nothing_until_a_probe_succeeds(failure: Answer) -> None:
    async with FakeService() as service, quick(service, breaker=NERVOUS) as client:
        service.always = failure
        calls = [asyncio.create_task(client.evaluate(submission("a")))]
        await eventually(lambda: len(service.requests) == 3, "three failures")
        service.always = None
        calls += [asyncio.create_task(client.evaluate(submission(s))) for s in "bcd"]
        await asyncio.gather(*calls)
        pause = service.requests[3].at - service.requests[2].at
        assert pause >= 0.29
        assert set(service.work) == set("abcd")


@in_loop
async def test_a_probe_that_fails_opens_the_breaker_for_longer() -> None:
    async with FakeService() as service, quick(service, breaker=NERVOUS) as client:
        service.always = problem(503, "away")
        call = asyncio.create_task(client.evaluate(submission("a")))
        await eventually(lambda: len(service.requests) == 4, "three failures and a probe")
        service.always = None
        await call
        assert service.requests[4].at - service.requests[3].at >= 0.59


@in_loop
async def test_verdicts_that_the_service_cannot_give_open_a_breaker_too() -> None:
    retry = RetryPolicy(first_s=0.0, longest_s=0.0, unscored=9)
    async with FakeService() as service, quick(service, breaker=NERVOUS, retry=retry) as client:
        verdict = await client.evaluate(submission("unscored 3 NO_DEVICE a"))
        assert verdict.outcome is Outcome.CORRECT
        at = [seen.at for seen in service.posts]
        assert at[3] - at[2] >= 0.29


@in_loop
async def test_a_bad_kernel_is_no_failure() -> None:
    async with (
        FakeService() as service,
        quick(service, breaker=BreakerPolicy(failures=1)) as client,
    ):
        service.answers.append(problem(422, "no", [("submissions.0.policy.device", "none such")]))
        got = await asyncio.gather(client.evaluate(submission("a")), return_exceptions=True)
        assert "none such" in str(got[0])
        started = time.monotonic()
        await client.evaluate(submission("b"))
        assert time.monotonic() - started < 0.9


@in_loop
async def test_an_answer_that_does_not_wait_is_not_asked_for_all_the_time() -> None:
    retry = RetryPolicy(first_s=0.2)
    async with FakeService() as service, quick(service, retry=retry) as client:
        service.waits = False
        service.held = {"a"}
        call = asyncio.create_task(client.evaluate(submission("a")))
        await asyncio.sleep(0.5)
        assert len(service.gets) < 15
        service.held = set()
        await call


@in_loop
async def test_waiting_leaves_connections_for_what_is_new() -> None:
    async with (
        FakeService() as service,
        quick(service, max_connections=2, max_batch=1) as client,
    ):
        service.held = {f"s{n}" for n in range(6)}
        calls = [asyncio.create_task(client.evaluate(submission(s))) for s in sorted(service.held)]
        await eventually(lambda: len(service.gets) > 2, "waits in turn")
        started = time.monotonic()
        assert (await client.evaluate(submission("new"))).message == "new"
        assert time.monotonic() - started < 0.4
        service.held = set()
        await asyncio.gather(*calls)
