"""Asks a reward service for verdicts, from asyncio: many calls, few requests, no confusion.

    async with AsyncRewardClient("http://localhost:8000") as client:
        verdict = await client.evaluate(submission)

What happens to a kernel is a value, a `Verdict`. What happens to the service is an exception,
or a verdict that is `unscored` and has no reward; never a number.

Calls that come together go as one batch (`coalescing`, `batches`). What failed for a reason that
is not the request's is tried again (`sending`, `retrying`) until the call's own deadline: the
submission's `deadline_s`, within which the service has to answer, and `margin_s` for the answer
to arrive. Two breakers (`breaker`) keep the client from hammering what is broken: one for a
service that does not answer, one for verdicts that it cannot give. While one is open, calls wait.

A call that is cancelled gives its submission up. The service is told when nobody waits for
anything of the same batch any more; until then it goes on with it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self, TypeVar

import httpx
from pydantic import TypeAdapter, ValidationError

from reward_service.schemas import DeviceInfo, ProblemInfo, RewardInfo, Submission, Verdict
from trainer_client.batches import BatchRun
from trainer_client.breaker import Breaker, BreakerPolicy
from trainer_client.calls import Call
from trainer_client.coalescing import Coalescer
from trainer_client.errors import (
    CLOSED,
    RequestRefusedError,
    RewardClientError,
    ServiceUnavailableError,
)
from trainer_client.retrying import Backoff, RetryPolicy
from trainer_client.sending import Request, Sender
from trainer_client.slices import Slices

T = TypeVar("T")
Progress = Callable[[int, int], None]

MAX_BATCH = 1024


class AsyncRewardClient:
    """A client of the service at `url`; use it in one event loop, as an `async with` block.

    `token`: the bearer token, where the service wants one. `max_batch`: submissions in a
    request, at most 1,024. `linger_s`: seconds that a call waits for others to go with it.
    `max_connections`: at once. `margin_s`: seconds beyond a submission's `deadline_s` after
    which a call ends. `answer_s`: seconds in which the service has to answer a request, beyond
    the wait that it asks for. Raises `ValueError` for what cannot work.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        max_batch: int = 256,
        linger_s: float = 0.005,
        max_connections: int = 128,
        margin_s: float = 30.0,
        answer_s: float = 30.0,
        retry: RetryPolicy | None = None,
        breaker: BreakerPolicy | None = None,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"the URL must begin with http:// or https://, not {url[:50]!r}")
        if not 1 <= max_batch <= MAX_BATCH:
            raise ValueError(f"max_batch must be 1 to {MAX_BATCH}, not {max_batch}")
        if token is not None and not (token.isascii() and token.isprintable()):
            raise ValueError("the token has characters that a header cannot carry")
        self._margin_s = margin_s
        self._retry = retry or RetryPolicy()
        self._http = httpx.AsyncClient(
            base_url=url,
            headers={} if token is None else {"Authorization": f"Bearer {token}"},
            limits=httpx.Limits(
                max_connections=max_connections, max_keepalive_connections=max_connections
            ),
        )
        policy = breaker or BreakerPolicy()
        answering = Breaker(policy, time.monotonic)
        self._scoring = Breaker(policy, time.monotonic)
        self._sender = Sender(self._http, answering, self._retry, answer_s)
        self._slices = Slices(max_connections)
        self._coalescer = Coalescer(self._launch, max_batch, linger_s)
        self._runs: set[BatchRun] = set()
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End every call that waits with a `RewardClientError`, and give its work up."""
        self._closed = True
        self._coalescer.flush()
        while self._runs:
            for run in self._runs:
                run.stop()
            await asyncio.gather(*(run.task for run in self._runs), return_exceptions=True)
        await self._http.aclose()

    async def evaluate(self, submission: Submission) -> Verdict:
        """The verdict of one submission, whatever its outcome.

        One that is unscored was tried anew a few times, if it was `retryable` and there was
        time. Raises `RequestRefusedError` (`NotAuthorizedError`) where the service refuses the
        submission, `ServiceUnavailableError` where it does not answer in time.
        """
        patience_ends = time.monotonic() + submission.deadline_s
        backoff = Backoff(self._retry)
        verdict = await self._ask(submission, patience_ends, self._margin_s)
        while verdict.retryable and backoff.tries < self._retry.unscored:
            pause_s = backoff.pause_s()
            if time.monotonic() + pause_s >= patience_ends:
                break
            await asyncio.sleep(pause_s)
            try:
                verdict = await self._ask(submission, patience_ends, 0.0)
            except ServiceUnavailableError:  # the verdict that there is says more
                break
        return verdict

    async def evaluate_many(
        self, submissions: Sequence[Submission], progress: Progress | None = None
    ) -> list[Verdict]:
        """The verdicts of many submissions, in their order.

        `progress(done, total)` is called after each. Raises as `evaluate` does, for the first
        that fails, and gives the others up; the fields of a `RequestRefusedError` then say
        which it was, as in `submissions.3.problem.name`.
        """
        total = len(submissions)
        tasks = [asyncio.create_task(self._nth(n, s)) for n, s in enumerate(submissions)]
        try:
            for done, task in enumerate(asyncio.as_completed(tasks), start=1):
                await task
                if progress is not None:
                    progress(done, total)
        finally:
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return [each.result() for each in tasks]

    async def problems(self) -> list[ProblemInfo]:
        """The problems that the service has. Raises as `evaluate` does, after `margin_s`."""
        return await self._list("/problems", TypeAdapter(list[ProblemInfo]))

    async def rewards(self) -> list[RewardInfo]:
        """The reward configs that the service has. Raises as `evaluate` does, after `margin_s`."""
        return await self._list("/rewards", TypeAdapter(list[RewardInfo]))

    async def devices(self) -> list[DeviceInfo]:
        """The devices of live workers. Raises as `evaluate` does, after `margin_s`."""
        return await self._list("/devices", TypeAdapter(list[DeviceInfo]))

    async def _ask(self, submission: Submission, patience_ends: float, margin_s: float) -> Verdict:
        if self._closed:
            raise RewardClientError(CLOSED)
        call = Call(submission, patience_ends)
        self._coalescer.add(call)
        try:
            async with asyncio.timeout(patience_ends + margin_s - time.monotonic()):
                return await call.verdict
        except TimeoutError:
            reason = f"no verdict in {submission.deadline_s:g} s and {margin_s:g} s more"
            raise ServiceUnavailableError(f"{reason}: {call.seen}") from None

    async def _nth(self, index: int, submission: Submission) -> Verdict:
        try:
            return await self.evaluate(submission)
        except RequestRefusedError as error:
            raise error.within(f"submissions.{index}") from None

    async def _list(self, path: str, items: TypeAdapter[list[T]]) -> list[T]:
        seen = ["it was not sent yet"]
        try:
            async with asyncio.timeout(self._margin_s):
                answer = await self._sender.send(Request("GET", path), seen.append)
        except TimeoutError:
            message = f"no answer to {path} in {self._margin_s:g} s: {seen[-1]}"
            raise ServiceUnavailableError(message) from None
        try:
            return items.validate_json(answer.content)
        except ValidationError as error:
            message = f"{path} was answered with something else: {error.errors()[0]['msg']}"
            raise ServiceUnavailableError(message) from None

    def _launch(self, calls: list[Call]) -> None:
        run = BatchRun(calls, self._sender, self._slices, self._scoring, self._retry, self._launch)
        self._runs.add(run)
        run.task.add_done_callback(lambda _: self._runs.discard(run))
