"""Takes a batch of calls to the service and brings back their verdicts, whatever happens.

A batch is submitted without waiting and then asked for in slices, so that a broken connection
costs one slice. Where the service has forgotten the batch, it is submitted again under the same
`Idempotency-Key`, with the deadlines that are left.

One submission that is refused ends its own call; the others are sent again at once. A batch that
is too long, or too many for the room that there is, goes in halves. It lasts while any of its
callers waits: each has his own deadline. When the last one has gone and work is left, the batch
is given up; a caller who goes before the others leaves his evaluation running.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from uuid import uuid4

import httpx
from pydantic import ValidationError

from reward_service.schemas import Batch, Outcome, Reason, Verdict
from trainer_client.breaker import Breaker, Pass
from trainer_client.calls import Call
from trainer_client.errors import (
    CLOSED,
    RequestRefusedError,
    RewardClientError,
    ServiceUnavailableError,
)
from trainer_client.retrying import Backoff, RetryPolicy
from trainer_client.sending import Request, Sender
from trainer_client.slices import Slices

KEY = "Idempotency-Key"
INFRASTRUCTURE = frozenset(
    {Reason.NO_DEVICE, Reason.DEVICE_UNHEALTHY, Reason.WORKER_LOST, Reason.INTERNAL}
)
OF_SUBMISSION = re.compile(r"submissions\.(\d{1,4})(?:\.(.*))?", re.DOTALL)

Fields = tuple[tuple[str, str], ...]


class BatchRun:
    """One batch under way. `scoring` is the breaker of verdicts that the service cannot give.

    `launch` starts another run, for calls that are better sent apart.
    """

    def __init__(
        self,
        calls: Sequence[Call],
        sender: Sender,
        slices: Slices,
        scoring: Breaker,
        retry: RetryPolicy,
        launch: Callable[[list[Call]], None],
    ) -> None:
        self._calls = list(calls)
        self._sender = sender
        self._slices = slices
        self._scoring = scoring
        self._retry = retry
        self._launch = launch
        self._key = uuid4().hex
        self._to_give_up: str | None = None
        self._ending = False
        self._end = RewardClientError(CLOSED)
        self._task = asyncio.create_task(self._run())
        # One that is stopped before it began has run nothing, not even its `finally`.
        self._task.add_done_callback(lambda _: self._fail_all())
        for call in calls:
            call.verdict.add_done_callback(self._one_less)

    @property
    def task(self) -> asyncio.Task[None]:
        """It ends with the run; its exceptions are bugs."""
        return self._task

    def stop(self) -> None:
        """End it early."""
        if not self._ending:
            self._ending = True
            self._task.cancel()

    def _one_less(self, _: asyncio.Future[Verdict]) -> None:
        if not self._waiting():
            self.stop()

    def _waiting(self) -> list[Call]:
        return [call for call in self._calls if call.waits]

    def _note(self, seen: str) -> None:
        for call in self._calls:
            call.seen = seen

    def _fail_all(self) -> None:
        for call in self._calls:
            call.fail(self._end)

    async def _run(self) -> None:
        try:
            async with self._scoring.passage(self._note) as given:
                await self._work(given)
        except RewardClientError as error:
            self._end = error
        except Exception as error:
            self._end = RewardClientError(f"a bug of the client: {error!r}")
            raise
        finally:
            self._ending = True
            self._fail_all()
            if self._to_give_up is not None:
                await self._sender.give_up(self._to_give_up)

    async def _work(self, given: Pass) -> None:
        lost = Backoff(self._retry)
        while batch := await self._submit():
            if await self._follow(batch, given):
                return
            self._note(f"the service has forgotten batch {batch.id}")
            await asyncio.sleep(lost.pause_s())

    async def _submit(self) -> Batch | None:
        """The batch as it was accepted; None: nobody waits any more."""
        while calls := self._waiting():
            self._calls = calls
            try:
                answer = await self._sender.send(self._submission(), self._note)
            except RequestRefusedError as error:
                self._key = uuid4().hex
                self._divide(error)
            else:
                return self._parse(answer)
        return None

    def _submission(self) -> Request:
        headers = {
            KEY: self._key,
            "Prefer": "respond-async",
            "Content-Type": "application/json",
        }
        return Request(
            "POST", "/evaluate/batch", self._content, headers, divisible=len(self._calls) > 1
        )

    def _content(self) -> bytes:
        now = time.monotonic()
        return b'{"submissions":[' + b",".join(c.content(now) for c in self._calls) + b"]}"

    def _divide(self, error: RequestRefusedError) -> None:
        """Part with those who are in the way of the others.

        Raises the error where it concerns all of them and trying again would not help.
        """
        if error.status in (413, 429) and len(self._calls) > 1:
            middle = len(self._calls) // 2
            self._calls, others = self._calls[:middle], self._calls[middle:]
            for call in others:
                call.verdict.remove_done_callback(self._one_less)
            self._launch(others)
            return
        at_fault = _by_index(error, self._calls)
        if error.status != 422 or not (at_fault or KEY in dict(error.fields)):
            raise error
        for call, fields in at_fault.items():
            call.fail(RequestRefusedError(422, _said(fields), fields))

    async def _follow(self, batch: Batch, given: Pass) -> bool:
        """Hand out verdicts until all have theirs; False: the service has lost the batch."""
        started = time.monotonic()
        backoff = Backoff(self._retry)
        self._to_give_up = path = f"/batches/{batch.id}"
        self._hand_out(batch, given)
        while self._waiting():
            self._note(f"accepted as batch {batch.id}; {batch.done} of {batch.total} were done")
            try:
                async with self._slices.next(time.monotonic() - started) as wait_s:
                    asked = time.monotonic()
                    answer = await self._sender.send(
                        Request("GET", path, wait_s=wait_s), self._note
                    )
            except RequestRefusedError as error:
                if error.status != 404:
                    raise
                self._to_give_up = None
                return False
            batch = self._parse(answer)
            if self._hand_out(batch, given):
                backoff = Backoff(self._retry)
            elif time.monotonic() - asked < wait_s / 2:
                # It does not wait: it is about to end, or something between answers for it.
                await asyncio.sleep(backoff.pause_s())
        if batch.done == batch.total:
            self._to_give_up = None
        return True

    def _hand_out(self, batch: Batch, given: Pass) -> bool:
        """Give each caller the verdict that is there; whether any was."""
        news: list[Verdict] = []
        for call, verdict in zip(self._calls, batch.verdicts, strict=True):
            if verdict is not None and call.waits:
                news.append(verdict)
                call.answer(verdict)
        if any(verdict.outcome is not Outcome.UNSCORED for verdict in news):
            given.succeeded()
            return True
        for verdict in news:
            if verdict.reason in INFRASTRUCTURE:
                given.failed(f"unscored/{verdict.reason}: {verdict.message}")
        return bool(news)

    def _parse(self, answer: httpx.Response) -> Batch:
        try:
            batch = Batch.model_validate_json(answer.content)
        except ValidationError as error:
            what = error.errors()[0]
            where = ".".join(map(str, what["loc"]))
            reason = f"not a batch: {where}: {what['msg']}"
        else:
            if len(batch.verdicts) == len(self._calls):
                return batch
            reason = f"a batch of {len(batch.verdicts)} for {len(self._calls)} submissions"
        raise ServiceUnavailableError(f"{answer.url.path} was answered with {reason}")


def _by_index(error: RequestRefusedError, calls: Sequence[Call]) -> dict[Call, Fields]:
    """The fields at fault by the call whose submission they are in, their paths cut to it."""
    found: dict[Call, list[tuple[str, str]]] = defaultdict(list)
    for field, message in error.fields:
        match = OF_SUBMISSION.fullmatch(field)
        if match and int(match[1]) < len(calls):
            found[calls[int(match[1])]].append((match[2] or "", message))
    return {call: tuple(fields) for call, fields in found.items()}


def _said(fields: Fields) -> str:
    first, message = fields[0]
    rest = f" (and {len(fields) - 1} more)" if len(fields) > 1 else ""
    return f"{first}: {message}{rest}" if first else f"{message}{rest}"
