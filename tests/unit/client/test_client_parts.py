"""Coalescing, errors, what is sent, and what is imported."""

from __future__ import annotations

import asyncio
import inspect
import json
import pickle
import subprocess
import sys

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_service.schemas import Candidate, Policy, Problem, Submission
from trainer_client.blocking import Options, RewardClient
from trainer_client.calls import Call
from trainer_client.client import AsyncRewardClient
from trainer_client.coalescing import MAX_CHARS, Coalescer
from trainer_client.errors import (
    NotAuthorizedError,
    RequestRefusedError,
    RewardClientError,
    ServiceUnavailableError,
    refusal,
)

LONG = "x" * 1_000_000


def submission(source: str = "a", **fields: object) -> Submission:
    candidate = Candidate(source=source)
    return Submission(problem=Problem(name="p"), candidate=candidate, **fields)


@pytest.mark.parametrize("module", ["trainer_client.client", "trainer_client.blocking"])
def test_the_client_needs_nothing_of_the_service_but_its_wire_format(module: str) -> None:
    program = (
        f"import sys, {module}\n"
        "heavy = {'fastapi', 'starlette', 'redis', 'rq', 'torch', 'numpy', 'pydantic_settings'}\n"
        "ours = {m for m in sys.modules if m.startswith('reward_service')}\n"
        "print(sorted(heavy & set(sys.modules)), sorted(ours))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[] ['reward_service', 'reward_service.schemas']", done.stderr


def test_the_twin_has_the_arguments_and_methods_of_the_asynchronous_client() -> None:
    arguments = inspect.signature(AsyncRewardClient).parameters
    assert list(Options.__annotations__) == list(arguments)[1:]
    for name in ("evaluate", "evaluate_many", "problems", "rewards", "devices"):
        ours, theirs = (getattr(kind, name) for kind in (RewardClient, AsyncRewardClient))
        assert inspect.signature(ours) == inspect.signature(theirs)


@given(sizes=st.lists(st.sampled_from([1, 1_000_000]), max_size=30), max_batch=st.integers(1, 9))
def test_every_call_is_launched_once_in_order_within_the_limits(
    sizes: list[int], max_batch: int
) -> None:
    launched: list[list[Call]] = []

    async def fill() -> list[Call]:
        coalescer = Coalescer(launched.append, max_batch, linger_s=60.0)
        calls = [Call(submission(LONG[:size]), 0.0) for size in sizes]
        for call in calls:
            coalescer.add(call)
        coalescer.flush()
        return calls

    calls = asyncio.run(fill())
    assert [call for batch in launched for call in batch] == calls
    for batch in launched:
        assert 1 <= len(batch) <= max_batch
        assert sum(call.chars for call in batch) <= MAX_CHARS


def test_what_lingers_is_launched_by_itself() -> None:
    async def wait() -> None:
        launched: asyncio.Queue[list[Call]] = asyncio.Queue()
        coalescer = Coalescer(launched.put_nowait, 10, linger_s=0.001)
        coalescer.add(Call(submission(), 0.0))
        assert len(await launched.get()) == 1
        coalescer.flush()
        assert launched.empty()

    asyncio.run(asyncio.wait_for(wait(), 10))


@pytest.mark.parametrize(("now", "deadline_s"), [(10.0, 90.0), (99.5, 1.0), (200.0, 1.0)])
def test_the_deadline_that_is_sent_is_what_is_left_but_never_nothing(
    now: float, deadline_s: float
) -> None:
    async def sent() -> bytes:
        return Call(submission(), patience_ends=100.0).content(now)

    assert json.loads(asyncio.run(sent()))["deadline_s"] == deadline_s


def test_what_was_not_said_is_left_to_the_service() -> None:
    async def sent() -> bytes:
        return Call(submission(policy=Policy(timing=False)), 10.0).content(0.0)

    assert json.loads(asyncio.run(sent())) == {
        "problem": {"name": "p"},
        "candidate": {"source": "a"},
        "policy": {"timing": False},
        "deadline_s": 10.0,
    }


@pytest.mark.parametrize(
    "error",
    [
        RewardClientError("closed"),
        ServiceUnavailableError("away"),
        RequestRefusedError(422, "no", [("problem.name", "none such")]),
        NotAuthorizedError(401, "no"),
    ],
)
def test_errors_survive_a_process_boundary(error: RewardClientError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), vars(again)) == (str(error), vars(error))


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b'{"title": "t", "status": 400, "detail": "why"}', "why"),
        (b"<html>a proxy</html>", "<html>a proxy</html>"),
        (b'{"title": 3}', '{"title": 3}'),
        (b"\xff" * 1000, "\ufffd" * 300),
        (b"", "Bad Request"),
    ],
)
def test_any_answer_makes_a_refusal(body: bytes, detail: str) -> None:
    assert refusal(httpx.Response(400, content=body)).detail == detail
