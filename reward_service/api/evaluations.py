"""Submit, look, wait, cancel."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from reward_service import verdicts
from reward_service.api import prefer
from reward_service.api.service import Service
from reward_service.errors import RequestError
from reward_service.jobs.record import Record
from reward_service.schemas import Evaluation, ProblemDetails, Reason, Submission, Verdict

MAX_WAIT_S = 600
ID = re.compile(r"[0-9a-f]{32}")
JSON = "application/json"

Wait = Annotated[float, Query(ge=0, le=MAX_WAIT_S, description="Seconds to wait for the end.")]


def _problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": ProblemDetails} for status in statuses}


def routes(service: Service) -> APIRouter:
    """`/evaluate` and `/evaluations/{id}`."""
    router = APIRouter(tags=["evaluations"])

    @router.post(
        "/evaluate",
        responses={
            200: {"model": Verdict, "description": "The verdict, whatever the outcome."},
            202: {"model": Evaluation, "description": "The client's wait ended first."},
            **_problems(400, 413, 422, 429, 503),
        },
    )
    async def evaluate(submission: Submission, request: Request) -> Response:
        """Judge one submission.

        Waits for the verdict until `deadline_s`, or as `Prefer: wait=N` or `respond-async`
        says. A client that goes away cancels nothing.
        """
        asked = prefer.parse(request.headers.getlist("prefer"))
        admitted = await service.call(service.admission.admit, submission)
        taken = await service.call(service.intake.take, admitted)
        service.metrics.submission(taken.how)
        # From acceptance, so that it never ends before the evaluation's own deadline.
        patience_ends = time.monotonic() + submission.deadline_s
        wait_s = submission.deadline_s
        if asked.wait_s is not None:
            wait_s = min(wait_s, asked.wait_s)
        record = await _wait(service, request, taken.id, wait_s)
        if record is None:
            raise RequestError(503, "the store has lost the evaluation; submit it again")
        headers = {"Preference-Applied": asked.applied} if asked.applied else {}
        if record.verdict is None and time.monotonic() >= patience_ends:
            return Response(await _out_of_time(service, record), 200, headers, JSON)
        if record.verdict is None:
            headers["Location"] = f"/evaluations/{taken.id}"
            seen = record.evaluation.model_copy(update={"tags": submission.tags})
            return Response(seen.model_dump_json(), 202, headers, JSON)
        return Response(record.verdict.model_dump_json(), 200, headers, JSON)

    @router.get(
        "/evaluations/{id}", responses={200: {"model": Evaluation}, **_problems(404, 422, 503)}
    )
    async def look(id: str, request: Request, wait: Wait = 0.0) -> Response:
        """One evaluation: at once, or when it is done, or when `wait` is over."""
        record = await _wait(service, request, _checked(id), wait)
        if record is None:
            raise _unknown(id)
        return Response(record.evaluation.model_dump_json(), media_type=JSON)

    @router.delete(
        "/evaluations/{id}", responses={200: {"model": Evaluation}, **_problems(404, 503)}
    )
    async def cancel(id: str) -> Response:
        """Give up one submission; the evaluation ends unless others wait for it as well."""
        record = await service.call(service.lifecycle.cancel, _checked(id))
        if record is None:
            raise _unknown(id)
        return Response(record.evaluation.model_dump_json(), media_type=JSON)

    return router


async def _wait(service: Service, request: Request, id: str, wait_s: float) -> Record | None:
    """The evaluation when it is done, or `wait_s` is over, or nobody listens any more."""
    if wait_s <= 0:
        record = await service.load(id)
    else:
        waiting = asyncio.create_task(service.waiters.wait(id, wait_s))
        gone = asyncio.create_task(_gone(request))
        try:
            await asyncio.wait({waiting, gone}, return_when=asyncio.FIRST_COMPLETED)
            record = await waiting if waiting.done() else await service.load(id)
        finally:
            waiting.cancel()
            gone.cancel()
    return record


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _out_of_time(service: Service, record: Record) -> str:
    """The verdict of a client whose patience ended, as JSON.

    The evaluation itself ends too, unless it has also been joined by someone more patient.
    """
    await service.call(service.lifecycle.expire, record.id)
    now = await service.load(record.id)
    if now is not None and now.verdict is not None:
        return now.verdict.model_dump_json()
    message = "the submission's deadline_s ended; the evaluation goes on for another client"
    return verdicts.unscored(
        record.subject, Reason.QUEUE_DEADLINE, message, stages=record.stages
    ).model_dump_json()


def _checked(id: str) -> str:
    if ID.fullmatch(id) is None:
        raise _unknown(id)
    return id


def _unknown(id: str) -> RequestError:
    return RequestError(
        404, f"there is no evaluation {id[:64]!r}, or its verdict has expired", "id"
    )
