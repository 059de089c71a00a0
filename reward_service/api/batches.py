"""Many submissions at once: submit, look, wait, give up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Annotated

from fastapi import APIRouter, Body, Request
from starlette.responses import Response

from reward_service.admission import Admitted
from reward_service.api import examples, prefer
from reward_service.api.evaluations import JSON, Wait, checked, problems, unknown
from reward_service.api.gone import until_gone
from reward_service.api.service import Service
from reward_service.errors import BatchError, RequestError
from reward_service.jobs import idempotency
from reward_service.jobs.batches import Places, view
from reward_service.jobs.record import Record
from reward_service.schemas import Batch, BatchSubmission, State, Submission

PATH = "/evaluate/batch"
PACE_S = 0.05
"""Moves of a batch within so many seconds are looked at together."""


def routes(service: Service) -> APIRouter:
    """`/evaluate/batch` and `/batches/{id}`."""
    router = APIRouter(tags=["batches"])

    @router.post(
        PATH,
        responses={
            200: {"model": Batch, "description": "All verdicts, in the order of the submissions."},
            202: {"model": Batch, "description": "The client's wait ended first."},
            **problems(400, 401, 413, 415, 422, 429, 503),
        },
    )
    async def evaluate_batch(
        batch: Annotated[BatchSubmission, Body(openapi_examples=examples.BATCHES)],
        request: Request,
    ) -> Response:
        """Judge many submissions; all are taken in, or none.

        Waits as `/evaluate` does, until the longest `deadline_s`. A refusal (422) names each
        submission that is wrong: `submissions.3.problem.name`.
        """
        asked = prefer.parse(request.headers.getlist("prefer"))
        id = await service.call(_take, service, request, batch)
        wait_s = max(each.deadline_s for each in batch.submissions)
        if asked.wait_s is not None:
            wait_s = min(wait_s, asked.wait_s)
        seen = await _wait(service, request, id, wait_s)
        headers = {"Preference-Applied": asked.applied} if asked.applied else {}
        if seen.done < seen.total:
            headers["Location"] = f"/batches/{id}"
        status = 202 if seen.done < seen.total else 200
        return Response(seen.model_dump_json(), status, headers, JSON)

    @router.get("/batches/{id}", responses={200: {"model": Batch}, **problems(401, 404, 422, 503)})
    async def look(id: str, request: Request, wait: Wait = 0.0) -> Response:
        """One batch: at once, or when all of it is done, or when `wait` is over."""
        seen = await _wait(service, request, checked(id), wait)
        return Response(seen.model_dump_json(), media_type=JSON)

    @router.delete("/batches/{id}", responses={200: {"model": Batch}, **problems(401, 404, 503)})
    async def give_up(id: str, request: Request) -> Response:
        """Give up each submission of one's own batch, which is then forgotten."""
        client = request.state.client.name
        places = await service.call(service.batches.give_up, checked(id), client)
        if places is None:
            raise unknown(id)
        seen = await _view(service, places)
        return Response(seen.model_dump_json(), media_type=JSON)

    return router


async def follow(service: Service, id: str, until: float) -> AsyncGenerator[Batch]:
    """The batch now, and after each of its moves, until all is done or `until` (monotonic).

    The last one is the state at the end. Raises `RequestError` 404.
    """
    places = await service.call(service.batches.get, id)
    if places is None:
        raise unknown(id)
    records: dict[str, Record] = {}
    with service.waiters.follow(places.ids) as follower:
        while True:
            pause_s = min(until, _next_end(service, places, records)) - time.monotonic()
            moved = await follower.moved(max(0.0, pause_s))
            if moved:
                records |= await service.load_all(list(moved))
            seen = view(places, records, service.store.now())
            yield seen
            if seen.done == seen.total or service.waiters.released or time.monotonic() >= until:
                return
            await asyncio.sleep(PACE_S)


def _next_end(service: Service, places: Places, records: dict[str, Record]) -> float:
    """When the next patience ends that an undone submission has, on the monotonic clock."""
    now = service.store.now()
    left = [
        deadline - now
        for id, deadline in zip(places.ids, places.deadlines, strict=True)
        if deadline > now and (id not in records or records[id].state is not State.DONE)
    ]
    return time.monotonic() + min(left, default=0.0)


async def _wait(service: Service, request: Request, id: str, wait_s: float) -> Batch:
    """The batch when it is done, or `wait_s` is over, or nobody listens any more."""
    if wait_s > 0:
        seen = await until_gone(request, _last(follow(service, id, time.monotonic() + wait_s)))
        if seen is not None:
            return seen
    places = await service.call(service.batches.get, id)
    if places is None:
        raise unknown(id)
    return await _view(service, places)


async def _last(batches: AsyncGenerator[Batch]) -> Batch | None:
    last = None
    async for batch in batches:
        last = batch
    return last


async def _view(service: Service, places: Places) -> Batch:
    records = await service.load_all(places.ids)
    return view(places, records, service.store.now())


def _take(service: Service, request: Request, batch: BatchSubmission) -> str:
    """The id of the batch."""
    client = request.state.client

    def make() -> str:
        places, taken = service.batches.take(_admitted(service, batch.submissions), client)
        for each in taken:
            service.metrics.submission(each.how)
        return places.id

    return service.idempotency.once(
        client.name,
        request.headers.get(idempotency.HEADER),
        batch.model_dump_json(exclude={"submissions": {"__all__": {"deadline_s"}}}),
        exists=lambda id: service.batches.get(id) is not None,
        make=make,
        undo=lambda id: service.batches.give_up(id, client.name),
    )


def _admitted(service: Service, submissions: Sequence[Submission]) -> list[Admitted]:
    """All of them; raises `BatchError` for those that are wrong, `RequestError` otherwise."""
    fleet = service.admission.fleet()
    admitted: list[Admitted] = []
    wrong: dict[str, str] = {}
    for index, submission in enumerate(submissions):
        try:
            admitted.append(service.admission.admit(submission, fleet))
        except RequestError as error:
            if error.status != 422:
                raise
            wrong[f"submissions.{index}.{error.field}"] = error.detail
    if wrong:
        raise BatchError(wrong)
    return admitted
