"""One submission: submit, look, wait, cancel."""

from __future__ import annotations

import re
import time
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request
from starlette.responses import Response

from reward_service import verdicts
from reward_service.api import examples, prefer
from reward_service.api.gone import until_gone
from reward_service.api.service import Service
from reward_service.errors import RequestError
from reward_service.jobs import idempotency
from reward_service.jobs.record import Record
from reward_service.schemas import Evaluation, ProblemDetails, Reason, Submission, Verdict

MAX_WAIT_S = 600
ID = re.compile(r"[0-9a-f]{32}")
JSON = "application/json"

Wait = Annotated[float, Query(ge=0, le=MAX_WAIT_S, description="Seconds to wait for the end.")]


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For a route's documentation."""
    return {status: {"model": ProblemDetails} for status in statuses}


def routes(service: Service) -> APIRouter:
    """`/evaluate` and `/evaluations/{id}`."""
    router = APIRouter(tags=["evaluations"])

    @router.post(
        "/evaluate",
        responses={
            200: {"model": Verdict, "description": "The verdict, whatever the outcome."},
            202: {"model": Evaluation, "description": "The client's wait ended first."},
            **problems(400, 401, 413, 422, 429, 503),
        },
    )
    async def evaluate(
        submission: Annotated[Submission, Body(openapi_examples=examples.SUBMISSIONS)],
        request: Request,
    ) -> Response:
        """Judge one submission.

        Waits for the verdict until `deadline_s`, or as `Prefer: wait=N` or `respond-async`
        says. A client that goes away cancels nothing.
        """
        asked = prefer.parse(request.headers.getlist("prefer"))
        id = await service.call(_take, service, request, submission)
        # From acceptance, so that it never ends before the evaluation's own deadline.
        patience_ends = time.monotonic() + submission.deadline_s
        wait_s = submission.deadline_s
        if asked.wait_s is not None:
            wait_s = min(wait_s, asked.wait_s)
        record = await _wait(service, request, id, wait_s)
        if record is None:
            raise RequestError(503, "the store has lost the evaluation; submit it again")
        headers = {"Preference-Applied": asked.applied} if asked.applied else {}
        if record.verdict is None and time.monotonic() >= patience_ends:
            return Response(await _out_of_time(service, record), 200, headers, JSON)
        if record.verdict is None:
            headers["Location"] = f"/evaluations/{id}"
            seen = record.evaluation.model_copy(update={"tags": submission.tags})
            return Response(seen.model_dump_json(), 202, headers, JSON)
        return Response(record.verdict.model_dump_json(), 200, headers, JSON)

    @router.get(
        "/evaluations/{id}", responses={200: {"model": Evaluation}, **problems(401, 404, 422, 503)}
    )
    async def look(id: str, request: Request, wait: Wait = 0.0) -> Response:
        """One evaluation: at once, or when it is done, or when `wait` is over."""
        record = await _wait(service, request, checked(id), wait)
        if record is None:
            raise unknown(id)
        return Response(record.evaluation.model_dump_json(), media_type=JSON)

    @router.delete(
        "/evaluations/{id}", responses={200: {"model": Evaluation}, **problems(401, 404, 503)}
    )
    async def cancel(id: str, request: Request) -> Response:
        """Give up one submission of one's own; the evaluation ends unless others wait for it."""
        client = request.state.client.name
        record = await service.call(service.lifecycle.cancel, checked(id), client)
        if record is None:
            raise unknown(id)
        return Response(record.evaluation.model_dump_json(), media_type=JSON)

    return router


def _take(service: Service, request: Request, submission: Submission) -> str:
    """The id of the submission's evaluation."""
    client = request.state.client

    def make() -> str:
        taken = service.intake.take(service.admission.admit(submission), client)
        service.metrics.submission(taken.how)
        return taken.id

    return service.idempotency.once(
        client.name,
        request.headers.get(idempotency.HEADER),
        submission.model_dump_json(exclude={"deadline_s"}),  # what is left of it when sent again
        exists=lambda id: service.store.get(id) is not None,
        make=make,
        undo=lambda id: service.lifecycle.cancel(id, client.name),
    )


async def _wait(service: Service, request: Request, id: str, wait_s: float) -> Record | None:
    """The evaluation when it is done, or `wait_s` is over, or nobody listens any more."""
    if wait_s <= 0:
        return await service.load(id)
    return await until_gone(request, service.waiters.wait(id, wait_s)) or await service.load(id)


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


def checked(id: str) -> str:
    """An id as it is in a path; `RequestError` 404 where it can be none."""
    if ID.fullmatch(id) is None:
        raise unknown(id)
    return id


def unknown(id: str) -> RequestError:
    """There is nothing of this id."""
    return RequestError(404, f"there is no {id[:64]!r} here, or it has expired", "id")
