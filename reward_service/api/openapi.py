"""The API's own description (`/openapi.json`), where FastAPI's is not quite true.

Errors are `application/problem+json`, which FastAPI would describe as plain JSON.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

PROBLEM = "#/components/schemas/ProblemDetails"


def install(app: FastAPI) -> None:
    """Make `app` describe itself so; the description is made when it is first asked for."""

    def describe() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(title=app.title, version=app.version, routes=app.routes)
            for path in schema["paths"].values():
                for operation in path.values():
                    _correct(operation["responses"])
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = describe  # type: ignore[method-assign]  # FastAPI's documented way


def _correct(responses: dict[str, Any]) -> None:
    for status, response in responses.items():
        if status >= "400":
            content = {"schema": {"$ref": PROBLEM}}
            response["content"] = {"application/problem+json": content}
