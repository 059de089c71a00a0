"""The blocking twin: from threads, beside a running loop, and at its end."""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from client_service import FakeService, eventually, in_loop, submission

from trainer_client.blocking import RewardClient
from trainer_client.errors import RequestRefusedError, RewardClientError


@in_loop
async def test_calls_from_several_threads_go_together() -> None:
    async with FakeService() as service:

        def crowd() -> list[str]:
            with RewardClient(service.url, linger_s=0.1) as client, ThreadPoolExecutor(16) as pool:
                calls = [pool.submit(client.evaluate, submission(f"s{n}")) for n in range(16)]
                return [call.result().message for call in calls]

        assert await asyncio.to_thread(crowd) == [f"s{n}" for n in range(16)]
        assert len(service.posts) < 8


@in_loop
async def test_it_has_the_methods_of_the_asynchronous_one() -> None:
    async with FakeService() as service:
        threads: list[threading.Thread] = []

        def use() -> None:
            here = threading.current_thread()
            with RewardClient(service.url) as client:
                many = [submission("a"), submission("b")]
                told: list[tuple[int, int]] = []

                def progress(done: int, total: int) -> None:
                    told.append((done, total))
                    threads.append(threading.current_thread())

                assert [v.message for v in client.evaluate_many(many, progress)] == ["a", "b"]
                assert [v.message for v in client.evaluate_many(many)] == ["a", "b"]
                assert told == [(1, 2), (2, 2)]
                assert set(threads) == {here}
                assert [p.name for p in client.problems()] == ["level1/relu"]
                with pytest.raises(RequestRefusedError):
                    client.evaluate(submission("bad"))

        await asyncio.to_thread(use)


def test_it_works_in_a_thread_that_runs_a_loop() -> None:
    ready, over = threading.Event(), threading.Event()
    url: list[str] = []

    async def serve() -> None:
        async with FakeService() as service:
            url.append(service.url)
            ready.set()
            await asyncio.to_thread(over.wait)

    async def program() -> str:
        with RewardClient(url[0]) as client:
            return client.evaluate(submission("a")).message

    server = threading.Thread(target=asyncio.run, args=(serve(),))
    server.start()
    assert ready.wait(30)
    try:
        assert asyncio.run(program()) == "a"
    finally:
        over.set()
        server.join()


@in_loop
async def test_closing_ends_the_calls_of_other_threads_and_leaves_no_thread() -> None:
    async with FakeService() as service:
        service.held = {"a"}
        before = threading.active_count()
        client = await asyncio.to_thread(RewardClient, service.url)
        call = asyncio.create_task(asyncio.to_thread(client.evaluate, submission("a")))
        await eventually(lambda: service.gets, "a wait")
        await asyncio.gather(*(asyncio.to_thread(client.close) for _ in range(2)))
        with pytest.raises(RewardClientError, match="closed"):
            await call
        with pytest.raises(RewardClientError, match="closed"):
            client.evaluate(submission("b"))
        assert service.given_up == list(service.batches)
        assert not [t for t in threading.enumerate() if t.name == "reward-client"]
        assert threading.active_count() >= before


@in_loop
async def test_a_progress_that_raises_ends_the_call() -> None:
    async with FakeService() as service:
        service.held = {"b"}

        def stop(done: int, total: int) -> None:
            raise KeyboardInterrupt

        def use() -> None:
            with RewardClient(service.url) as client:
                many = [submission("a"), submission("b")]
                with pytest.raises(KeyboardInterrupt):
                    client.evaluate_many(many, stop)

        await asyncio.to_thread(use)
        assert service.given_up


def test_in_another_process_it_says_so() -> None:
    with RewardClient("http://127.0.0.1:9") as client:

        def child() -> None:
            with pytest.raises(RewardClientError, match="another process"):
                client.evaluate(submission("a"))

        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join(30)
        assert process.exitcode == 0
