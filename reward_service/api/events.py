"""Server-sent events: what becomes of an evaluation or a batch, told as it happens.

A reader that falls behind is told where things are by then, not each step that they took; one
that does not read at all costs what the kernel buffers for it, and is dropped after `STALL_S`.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncGenerator
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from reward_service.api import batches
from reward_service.api.evaluations import checked, problems, unknown
from reward_service.api.gone import until_gone
from reward_service.api.service import Service
from reward_service.schemas import MAX_BATCH, Batch, Evaluation, State, Verdict

LONGEST_S = 86_400.0
HEARTBEAT_S = 15.0
STALL_S = 30.0
_MASK = re.compile(rf"[0-9a-f]{{1,{MAX_BATCH // 4}}}")
HEARTBEAT = b": still here\n\n"
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {}}, "description": "Events, until it is done."}
}


def routes(service: Service) -> APIRouter:
    """`/evaluations/{id}/events` and `/batches/{id}/events`."""
    router = APIRouter(tags=["events"])

    @router.get(
        "/evaluations/{id}/events",
        response_class=Response,
        responses={**_STREAM, **problems(401, 404, 503)},
    )
    async def evaluation(id: str, request: Request) -> Response:
        """An event for each state, named by it: `queued`, `building`, `built`, `running`, `done`.

        Its data is the `Evaluation`. With `Last-Event-ID` a state that was told is not told again.
        """
        if await service.load(checked(id)) is None:
            raise unknown(id)
        return EventStream(request, _of_evaluation(service, id, _last_id(request)))

    @router.get(
        "/batches/{id}/events",
        response_class=Response,
        responses={**_STREAM, **problems(401, 404, 503)},
    )
    async def batch(id: str, request: Request) -> Response:
        """`verdict` for each submission that is done, with its index; `progress`; then `done`.

        With `Last-Event-ID` the verdicts that were told before it are not told again.
        """
        if await service.call(service.batches.get, checked(id)) is None:
            raise unknown(id)
        return EventStream(request, _of_batch(service, id, _last_id(request)))

    return router


class EventStream(Response):
    """Sends events until they end, or the client goes away or stops reading."""

    media_type = "text/event-stream"

    def __init__(self, request: Request, events: AsyncGenerator[bytes]) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._request = request
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        with contextlib.suppress(TimeoutError):
            await until_gone(self._request, self._send_all(send))

    async def _send_all(self, send: Send) -> None:
        more = {"type": "http.response.body", "more_body": True}
        async with contextlib.aclosing(self._events) as events:
            async for event in events:
                async with asyncio.timeout(STALL_S):
                    await send({**more, "body": event})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _of_evaluation(service: Service, id: str, told: str) -> AsyncGenerator[bytes]:
    with service.waiters.follow([id]) as follower:
        while not service.waiters.released:
            if not await follower.moved(HEARTBEAT_S):
                yield HEARTBEAT
                continue
            record = await service.load(id)
            if record is None:  # it has expired
                return
            place = f"{record.serial}-{record.state}"
            if place != told:
                told = place
                yield _event(record.state, record.evaluation, place)
            if record.state is State.DONE:
                return


async def _of_batch(service: Service, id: str, told_before: str) -> AsyncGenerator[bytes]:
    told = _unmasked(told_before)
    seen: Batch | None = None
    while seen is None or seen.done < seen.total:
        until = time.monotonic() + HEARTBEAT_S
        async with contextlib.aclosing(batches.follow(service, id, until)) as looks:
            async for seen in looks:
                for index, verdict in enumerate(seen.verdicts):
                    if verdict is not None and index not in told:
                        told.add(index)
                        yield _verdict(index, verdict)
                yield _event("progress", _counts(seen), _mask(told))
        if service.waiters.released:
            return
        yield HEARTBEAT
    yield _event("done", _counts(seen), _mask(told))


def _counts(batch: Batch) -> Batch:
    return batch.model_copy(update={"verdicts": ()})


def _verdict(index: int, verdict: Verdict) -> bytes:
    data = f'{{"index":{index},"verdict":{verdict.model_dump_json()}}}'
    return f"event: verdict\ndata: {data}\n\n".encode()


def _event(name: str, data: Evaluation | Batch, id: str) -> bytes:
    return f"event: {name}\nid: {id}\ndata: {data.model_dump_json()}\n\n".encode()


def _last_id(request: Request) -> str:
    return request.headers.get("last-event-id", "")


def _mask(told: set[int]) -> str:
    """The indices as the bits of a number."""
    return f"{sum(1 << index for index in told):x}"


def _unmasked(mask: str) -> set[int]:
    """The reverse; what is malformed tells nothing."""
    if _MASK.fullmatch(mask) is None:
        return set()
    return {index for index, bit in enumerate(reversed(f"{int(mask, 16):b}")) if bit == "1"}
