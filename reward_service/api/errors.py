"""Errors as problem+json (RFC 9457), each saying which field is at fault.

Whatever an exception says of its own is shown only if it was written to be: messages of our
error classes are, those of anything else stay in the log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import compile_path

from reward_service.errors import BatchError, RequestError, StoreError
from reward_service.schemas import MAX_BATCH, ProblemDetails

log = logging.getLogger(__name__)

MAX_ERRORS = 2 * MAX_BATCH
"""So that a batch learns of each of its submissions that is wrong."""
MAX_FIELD_CHARS = 200
VALUE_ERROR = "Value error, "
NOT_A_FIELD = frozenset({"body", "query", "path", "header"})
RETRY_STORE_S = 1


def problem_response(
    status: int,
    detail: str,
    field: str | None = None,
    *,
    errors: Sequence[Mapping[str, str]] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """One error; `field` is short for a single entry of `errors` that repeats the detail."""
    named = [dict(error) for error in errors]
    if field is not None:
        named.append({"field": field, "message": detail})
    title = HTTPStatus(status).phrase
    problem = ProblemDetails(title=title, status=status, detail=detail, errors=named)
    return Response(
        problem.model_dump_json(),
        status,
        headers=dict(headers or {}),
        media_type="application/problem+json",
    )


def store_response(error: StoreError) -> Response:
    """Valkey does not answer."""
    log.warning("%s", error)
    detail = "the service's store does not answer; nothing is lost, try again"
    return problem_response(503, detail, headers={"Retry-After": str(RETRY_STORE_S)})


def install(app: FastAPI, refused: Callable[[RequestError], int]) -> None:
    """Make all errors of `app` problem+json; `refused` hears of each 429 and says when to retry."""

    @app.exception_handler(RequestError)
    async def _request_error(_: Request, error: RequestError) -> Response:
        headers = {"Retry-After": str(refused(error))} if error.status == 429 else {}
        fields = error.fields if isinstance(error, BatchError) else {}
        named = [{"field": field, "message": message} for field, message in fields.items()]
        return problem_response(
            error.status, error.detail, error.field, errors=named, headers=headers
        )

    @app.exception_handler(StoreError)
    async def _store_error(_: Request, error: StoreError) -> Response:
        return store_response(error)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> Response:
        return _refusal(request, error.errors())

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        headers = dict(error.headers or {})
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = ", ".join(_methods(app, request))
        return problem_response(error.status_code, error.detail, headers=headers)

    @app.exception_handler(Exception)
    async def _bug(_: Request, error: Exception) -> Response:
        # The server logs the traceback: this handler's exception is raised again.
        return problem_response(500, "the service failed; its log has the cause")


def _methods(app: FastAPI, request: Request) -> list[str]:
    """What may be done at the request's path, by any of its routes."""
    paths = app.openapi()["paths"]
    there = [p for p in paths if compile_path(p)[0].fullmatch(request.url.path)]
    return sorted({method.upper() for path in there for method in paths[path]})


def _refusal(request: Request, errors: Sequence[Any]) -> Response:
    if any(error["type"] == "json_invalid" for error in errors):
        reason = str(errors[0].get("ctx", {}).get("error", "it does not parse"))
        return problem_response(400, f"the body is not JSON: {reason}", "body")
    whole_body = any(tuple(error["loc"]) == ("body",) for error in errors)
    if whole_body and not _says_json(request):
        detail = "the body must be JSON, and say so: `Content-Type: application/json`"
        return problem_response(400, detail, "body")
    named = [{"field": _field(e["loc"]), "message": _message(e)} for e in errors[:MAX_ERRORS]]
    first = named[0]
    rest = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return problem_response(422, f"{first['field']}: {first['message']}{rest}", errors=named)


def _says_json(request: Request) -> bool:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or (
        kind.startswith("application/") and kind.endswith("+json")
    )


def _field(location: Sequence[str | int]) -> str:
    """The dotted path; `body` where it is the whole of it. `[key]` marks a dictionary's key."""
    parts = location[1:] if location and location[0] in NOT_A_FIELD else location
    named = ".".join(str(part) for part in parts if part != "[key]")
    return named[:MAX_FIELD_CHARS] or "body"


def _message(error: Any) -> str:
    return str(error["msg"]).removeprefix(VALUE_ERROR)
