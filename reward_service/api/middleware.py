"""What every request passes before a route sees it: metrics, the token, the size of its body.

Plain ASGI, so that nothing is buffered twice and a client's going away reaches the route.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable

from pydantic import SecretStr
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reward_service.api.errors import problem_response

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class CountRequests:
    """Reports method, route and status of each answer to `count`."""

    def __init__(self, app: ASGIApp, count: Callable[[str, str, int], None]) -> None:
        self._app = app
        self._count = count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                method = scope["method"] if scope["method"] in METHODS else "other"
                # A route's template, never the path itself: paths are a client's to choose.
                route = getattr(scope.get("route"), "path", "other")
                self._count(method, route, message["status"])
            await send(message)

        await self._app(scope, receive, counting)


class RequireToken:
    """Answers 401 to whoever does not send the bearer token; probes need none."""

    def __init__(self, app: ASGIApp, token: SecretStr) -> None:
        self._app = app
        self._digest = _digest(token.get_secret_value())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS:
            scheme, _, sent = Headers(scope=scope).get("authorization", "").partition(" ")
            matches = hmac.compare_digest(_digest(sent.strip()), self._digest)
            if scheme.lower() != "bearer" or not matches:
                detail = "send the service's token as `Authorization: Bearer ...`"
                refusal = problem_response(401, detail, headers={"WWW-Authenticate": "Bearer"})
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


class LimitBody:
    """Reads the body ahead, and answers 413 as soon as it is too long.

    `Content-Length` is believed only where it says too much; a chunked body is counted.
    """

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "0")
        too_long = declared.isdigit() and int(declared) > self._max_bytes
        body = None if too_long else await self._read(receive)
        if body is None:
            message = f"the body is longer than {self._max_bytes} bytes"
            refusal = problem_response(413, message, "body", headers={"Connection": "close"})
            await refusal(scope, receive, send)
            return
        replayed = False

        async def replay() -> Message:
            nonlocal replayed
            if replayed:
                return await receive()
            replayed = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, replay, send)

    async def _read(self, receive: Receive) -> bytes | None:
        """The whole body, or None as soon as it is too long."""
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return b""
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if size > self._max_bytes:
                return None
            if not message.get("more_body", False):
                return b"".join(chunks)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
