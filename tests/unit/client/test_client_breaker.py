"""The circuit breaker, on a clock of the test's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from trainer_client.breaker import Breaker, BreakerPolicy

POLICY = BreakerPolicy(failures=3, open_s=0.05, longest_open_s=0.15)


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 20))


def nothing(_: str) -> None: ...


class Clock:
    """Seconds as the test sets them; waits take real time, so they are short."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def fail(breaker: Breaker, times: int = 1) -> None:
    for _ in range(times):
        async with breaker.passage(nothing) as given:
            given.failed("it broke")


async def passes_at_once(breaker: Breaker) -> bool:
    """Whether a newcomer need not wait; he leaves without an answer."""
    told: list[str] = []

    async def enter() -> None:
        async with breaker.passage(told.append):
            pass

    task = asyncio.create_task(enter())
    for _ in range(5):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return not told


def test_it_opens_at_the_last_of_so_many_failures() -> None:
    async def test() -> None:
        breaker = Breaker(POLICY, Clock())
        await fail(breaker, 2)
        assert not breaker.is_open
        await fail(breaker)
        assert breaker.is_open

    run(test)


def test_a_success_in_between_starts_the_count_anew() -> None:
    async def test() -> None:
        breaker = Breaker(POLICY, Clock())
        await fail(breaker, 2)
        async with breaker.passage(nothing) as given:
            given.succeeded()
        await fail(breaker, 2)
        assert not breaker.is_open

    run(test)


def test_one_probe_passes_when_its_time_is_over() -> None:
    async def test() -> None:
        clock = Clock()
        breaker = Breaker(POLICY, clock)
        await fail(breaker, 3)
        assert not await passes_at_once(breaker)
        clock.now = 0.05
        async with breaker.passage(nothing) as given:
            assert given.probe
            assert not await passes_at_once(breaker)
            given.succeeded()
            assert await passes_at_once(breaker)

    run(test)


@pytest.mark.parametrize(("probes", "open_s"), [(1, 0.1), (2, 0.15), (5, 0.15)])
def test_each_probe_that_fails_doubles_the_time_up_to_the_longest(
    probes: int, open_s: float
) -> None:
    async def test() -> None:
        clock = Clock()
        breaker = Breaker(POLICY, clock)
        await fail(breaker, 3)
        for _ in range(probes):
            clock.now += 1.0
            await fail(breaker)
        clock.now += open_s - 0.01
        assert not await passes_at_once(breaker)
        clock.now += 0.02
        assert await passes_at_once(breaker)

    run(test)


def test_a_success_forgets_how_long_it_was_open() -> None:
    async def test() -> None:
        clock = Clock()
        breaker = Breaker(POLICY, clock)
        await fail(breaker, 3)
        clock.now += 1.0
        await fail(breaker)
        clock.now += 1.0
        async with breaker.passage(nothing) as given:
            given.succeeded()
        await fail(breaker, 3)
        clock.now += 0.06
        assert await passes_at_once(breaker)

    run(test)


def test_a_probe_that_ends_without_an_answer_lets_the_next_one_probe() -> None:
    async def test() -> None:
        clock = Clock()
        breaker = Breaker(POLICY, clock)
        await fail(breaker, 3)
        clock.now = 1.0
        first = breaker.passage(nothing)
        await first.__aenter__()
        second = asyncio.create_task(breaker.passage(nothing).__aenter__())
        await asyncio.sleep(0)
        await first.__aexit__(None, None, None)
        assert (await second).probe

    run(test)


def test_failures_of_those_who_entered_before_do_not_keep_it_open() -> None:
    async def test() -> None:
        clock = Clock()
        breaker = Breaker(POLICY, clock)
        async with breaker.passage(nothing) as early:
            await fail(breaker, 3)
            for _ in range(5):
                early.failed("late")
            clock.now = 0.06
            assert await passes_at_once(breaker)

    run(test)


def test_a_success_of_one_who_entered_before_closes_it() -> None:
    async def test() -> None:
        breaker = Breaker(POLICY, Clock())
        async with breaker.passage(nothing) as early:
            await fail(breaker, 3)
            waiting = asyncio.create_task(passes_at_once(breaker))
            await asyncio.sleep(0)
            early.succeeded()
            assert not breaker.is_open
            await waiting

    run(test)


def test_who_waits_is_told_what_was_seen() -> None:
    async def test() -> None:
        clock = Clock()
        breaker = Breaker(POLICY, clock)
        await fail(breaker, 3)
        told: list[str] = []

        def note(seen: str) -> None:
            told.append(seen)
            clock.now = 1.0

        async with breaker.passage(note):
            assert told == ["3 failures in a row, the last: it broke"]

    run(test)
