"""What a caller gets from a service that works."""

from __future__ import annotations

import asyncio
import random

import pytest
from client_service import FakeService, eventually, in_loop, problem, submission
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trainer_client.client import AsyncRewardClient
from trainer_client.errors import (
    NotAuthorizedError,
    RequestRefusedError,
    RewardClientError,
)


@in_loop
async def test_a_call_alone_gets_its_verdict_in_one_request() -> None:
    async with FakeService() as service, AsyncRewardClient(service.url) as client:
        verdict = await client.evaluate(submission("one"))
        assert verdict.message == "one"
        assert len(service.requests) == 1
        assert service.posts[0].prefer == "respond-async"


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    count=st.integers(1, 60),
    max_batch=st.integers(1, 20),
    held=st.sets(st.integers(0, 59)),
    seed=st.integers(0, 1 << 16),
)
def test_each_caller_gets_his_own_verdict(
    count: int, max_batch: int, held: set[int], seed: int
) -> None:
    draw = random.Random(seed)

    async def crowd() -> None:
        async with (
            FakeService() as service,
            AsyncRewardClient(service.url, max_batch=max_batch, linger_s=0.001) as client,
        ):
            service.held = {f"s{n}" for n in held}

            async def one(n: int) -> None:
                for _ in range(draw.randrange(4)):
                    await asyncio.sleep(0)
                assert (await client.evaluate(submission(f"s{n}"))).message == f"s{n}"

            async def release() -> None:
                order = sorted(held)
                draw.shuffle(order)
                for n in order:
                    await asyncio.sleep(0.001)
                    service.held.discard(f"s{n}")

            await asyncio.gather(release(), *(one(n) for n in range(count)))
            assert all(len(seen.sources) <= max_batch for seen in service.posts)
            assert service.work == {f"s{n}": 1 for n in range(count)}

    asyncio.run(asyncio.wait_for(crowd(), 60))


@in_loop
async def test_many_calls_become_few_batches() -> None:
    async with FakeService() as service, AsyncRewardClient(service.url) as client:
        calls = (client.evaluate(submission(f"s{n}")) for n in range(1024))
        verdicts = await asyncio.gather(*calls)
        assert [v.message for v in verdicts] == [f"s{n}" for n in range(1024)]
        assert [len(seen.sources) for seen in service.posts] == [256] * 4


@in_loop
async def test_a_batch_is_kept_below_what_a_request_may_hold() -> None:
    async with FakeService() as service, AsyncRewardClient(service.url) as client:
        service.max_body_bytes = 6 << 20
        long = [submission(f"s{n} " + "x" * 1_000_000) for n in range(9)]
        assert len(await client.evaluate_many(long)) == 9
        assert max(len(seen.body) for seen in service.posts) < service.max_body_bytes


@in_loop
async def test_a_batch_that_is_too_long_for_the_service_is_halved() -> None:
    async with FakeService() as service, AsyncRewardClient(service.url) as client:
        service.max_body_bytes = 1000
        verdicts = await client.evaluate_many([submission(f"s{n}") for n in range(32)])
        assert [v.message for v in verdicts] == [f"s{n}" for n in range(32)]
        with pytest.raises(RequestRefusedError, match="413"):
            await client.evaluate(submission("x" * 1000))


@in_loop
async def test_what_is_done_first_does_not_wait_for_the_rest() -> None:
    async with FakeService() as service, AsyncRewardClient(service.url) as client:
        service.held = {"slow", "quick"}
        slow = asyncio.create_task(client.evaluate(submission("slow")))
        quick = asyncio.create_task(client.evaluate(submission("quick")))
        await eventually(lambda: service.gets, "a wait")
        service.held = {"slow"}
        assert (await quick).message == "quick"
        assert not slow.done()
        service.held = set()
        assert (await slow).message == "slow"
        assert len(service.posts) == 1


@in_loop
async def test_verdicts_come_in_the_order_of_the_submissions_and_progress_is_told() -> None:
    async with FakeService() as service, AsyncRewardClient(service.url, max_batch=3) as client:
        told: list[tuple[int, int]] = []
        many = [submission(f"s{n % 7}") for n in range(20)]
        verdicts = await client.evaluate_many(many, lambda done, total: told.append((done, total)))
        assert [v.message for v in verdicts] == [f"s{n % 7}" for n in range(20)]
        assert told == [(n, 20) for n in range(1, 21)]
        assert await client.evaluate_many([]) == []


@in_loop
async def test_a_bad_submission_fails_alone() -> None:
    async with FakeService() as service, AsyncRewardClient(service.url) as client:
        sources = ["a", "bad 1", "b", "bad 2", "c"]
        calls = (client.evaluate(submission(source)) for source in sources)
        got = await asyncio.gather(*calls, return_exceptions=True)
        for source, result in zip(sources, got, strict=True):
            if source.startswith("bad"):
                assert isinstance(result, RequestRefusedError)
                assert (result.status, result.fields) == (422, (("candidate.source", "bad"),))
            else:
                assert not isinstance(result, BaseException)
                assert result.message == source
        assert [len(seen.sources) for seen in service.posts] == [5, 3]


@in_loop
async def test_of_many_the_bad_one_is_named_and_the_others_are_given_up() -> None:
    async with FakeService() as service, AsyncRewardClient(service.url) as client:
        service.held = {"a", "c"}
        with pytest.raises(RequestRefusedError) as caught:
            await client.evaluate_many([submission(s) for s in ("a", "bad", "c")])
        assert caught.value.fields == (("submissions.1.candidate.source", "bad"),)
        assert "submissions.1" in str(caught.value)


@in_loop
async def test_the_deadline_that_is_sent_is_what_is_left_of_it() -> None:
    async with FakeService() as service, AsyncRewardClient(service.url, linger_s=0.05) as client:
        await client.evaluate(submission("a", deadline_s=10.0))
        assert 9.0 < service.posts[0].submissions[0]["deadline_s"] <= 9.95


@in_loop
async def test_a_token_is_sent_and_a_wrong_one_is_said() -> None:
    async with FakeService() as service:
        service.token = "right"
        async with AsyncRewardClient(service.url, token="right") as client:
            await client.evaluate(submission("a"))
            assert [p.name for p in await client.problems()] == ["level1/relu"]
        async with AsyncRewardClient(service.url, token="wrong") as client:
            with pytest.raises(NotAuthorizedError):
                await client.evaluate(submission("a"))
            with pytest.raises(NotAuthorizedError):
                await client.problems()
        assert len(service.requests) == 4


@pytest.mark.parametrize("status", [400, 404, 405, 409, 410, 413, 415, 418])
@in_loop
async def test_a_refusal_is_not_tried_again(status: int) -> None:
    async with FakeService() as service, AsyncRewardClient(service.url) as client:
        service.always = problem(status, "no")
        with pytest.raises(RequestRefusedError, match="no") as caught:
            await client.evaluate(submission("a"))
        assert caught.value.status == status
        assert len(service.requests) == 1


@in_loop
async def test_a_cancelled_call_gives_its_batch_up_when_nobody_else_waits_for_it() -> None:
    async with FakeService() as service, AsyncRewardClient(service.url) as client:
        service.held = {"a", "b"}
        a, b = (asyncio.create_task(client.evaluate(submission(s))) for s in "ab")
        await eventually(lambda: service.gets, "a wait")
        a.cancel()
        with pytest.raises(asyncio.CancelledError):
            await a
        assert not service.given_up
        b.cancel()
        await eventually(lambda: service.given_up, "the end of the batch")
        assert service.given_up == list(service.batches)


@in_loop
async def test_work_that_nobody_waits_for_is_given_up_when_the_others_are_done() -> None:
    async with FakeService() as service, AsyncRewardClient(service.url) as client:
        service.held = {"a", "b"}
        a, b = (asyncio.create_task(client.evaluate(submission(s))) for s in "ab")
        await eventually(lambda: service.gets, "a wait")
        a.cancel()
        service.held = {"a"}
        assert (await b).message == "b"
        await eventually(lambda: service.given_up, "the end of the batch")


@in_loop
async def test_closing_ends_the_calls_and_gives_their_work_up() -> None:
    async with FakeService() as service:
        service.held = {"a"}
        client = AsyncRewardClient(service.url)
        call = asyncio.create_task(client.evaluate(submission("a")))
        await eventually(lambda: service.gets, "a wait")
        await client.aclose()
        with pytest.raises(RewardClientError, match="closed"):
            await call
        assert service.given_up == list(service.batches)
        with pytest.raises(RewardClientError, match="closed"):
            await client.evaluate(submission("b"))


@pytest.mark.parametrize("steps", range(4))
@in_loop
async def test_closing_ends_a_call_that_has_hardly_begun(steps: int) -> None:
    async with FakeService() as service:
        client = AsyncRewardClient(service.url, max_batch=2)
        calls = [asyncio.create_task(client.evaluate(submission(s))) for s in "abc"]
        for _ in range(steps):
            await asyncio.sleep(0)
        await client.aclose()
        for result in await asyncio.gather(*calls, return_exceptions=True):
            assert isinstance(result, RewardClientError)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"url": "localhost:8000"}, "http://"),
        ({"url": "http://a", "max_batch": 0}, "max_batch"),
        ({"url": "http://a", "max_batch": 1025}, "max_batch"),
        ({"url": "http://a", "token": "a\nb"}, "token"),
    ],
)
def test_what_cannot_work_is_said_at_once(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        AsyncRewardClient(**arguments)  # type: ignore[arg-type]
