"""The client for programs without asyncio: the async one, on the loop of a thread of its own.

    with RewardClient("http://localhost:8000") as client:
        verdict = client.evaluate(submission)

It can be used by several threads at once, whose calls then go together, and in a program whose
main thread runs a loop. It does not survive a fork: make one in the child.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import CancelledError, Future
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self, TypedDict, TypeVar, Unpack

from reward_service.schemas import DeviceInfo, ProblemInfo, RewardInfo, Submission, Verdict
from trainer_client.breaker import BreakerPolicy
from trainer_client.client import AsyncRewardClient, Progress
from trainer_client.errors import CLOSED, RewardClientError
from trainer_client.retrying import RetryPolicy

T = TypeVar("T")


class Options(TypedDict, total=False):
    """The arguments of `AsyncRewardClient` after the URL."""

    token: str | None
    max_batch: int
    linger_s: float
    max_connections: int
    margin_s: float
    answer_s: float
    retry: RetryPolicy | None
    breaker: BreakerPolicy | None


class RewardClient:
    """As `AsyncRewardClient`, with its arguments, methods and errors; each method blocks."""

    def __init__(self, url: str, **options: Unpack[Options]) -> None:
        self._client = AsyncRewardClient(url, **options)
        self._process = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._starting = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run_loop, name="reward-client", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every call that waits with a `RewardClientError`, and the thread."""
        with self._starting:
            first, self._closed = not self._closed, True
        if first and os.getpid() == self._process:
            try:
                asyncio.run_coroutine_threadsafe(self._client.aclose(), self._loop).result()
            finally:
                self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def evaluate(self, submission: Submission) -> Verdict:
        """As `AsyncRewardClient.evaluate`."""
        return self._wait_for(lambda: self._client.evaluate(submission))

    def evaluate_many(
        self, submissions: Sequence[Submission], progress: Progress | None = None
    ) -> list[Verdict]:
        """As `AsyncRewardClient.evaluate_many`; `progress` is called in the caller's thread."""
        steps: SimpleQueue[tuple[int, int] | None] = SimpleQueue()

        def note(done: int, total: int) -> None:
            steps.put((done, total))

        future = self._start(lambda: self._client.evaluate_many(submissions, note))
        future.add_done_callback(lambda _: steps.put(None))
        try:
            while (step := steps.get()) is not None:
                if progress is not None:
                    progress(*step)
        finally:
            future.cancel()  # where `progress` raised
        return _result(future)

    def problems(self) -> list[ProblemInfo]:
        """As `AsyncRewardClient.problems`."""
        return self._wait_for(self._client.problems)

    def rewards(self) -> list[RewardInfo]:
        """As `AsyncRewardClient.rewards`."""
        return self._wait_for(self._client.rewards)

    def devices(self) -> list[DeviceInfo]:
        """As `AsyncRewardClient.devices`."""
        return self._wait_for(self._client.devices)

    def _wait_for(self, call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return _result(self._start(call))

    def _start(self, call: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        if os.getpid() != self._process:
            raise RewardClientError("the client was made in another process; make one here")
        with self._starting:
            if self._closed:
                raise RewardClientError(CLOSED)
            return asyncio.run_coroutine_threadsafe(call(), self._loop)

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            # What pauses between two tries ends here.
            left = asyncio.all_tasks(self._loop)
            for task in left:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        finally:
            self._loop.close()


def _result(future: Future[T]) -> T:
    try:
        return future.result()
    except CancelledError:
        raise RewardClientError(CLOSED) from None
    finally:
        future.cancel()  # where the wait was interrupted, as by Ctrl-C
