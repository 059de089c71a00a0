"""What every request passes before a route sees it: metrics, the token, the size of its body.

Plain ASGI, so that nothing is buffered twice and a client's going away reaches the route.
"""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reward_service.api.errors import problem_response, store_response
from reward_service.errors import RequestError, StoreError
from reward_service.jobs.tokens import Token

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


class Authenticate:
    """Answers 401 to whoever does not send a bearer token that counts; probes need none.

    A route finds the `Token` in its request's `state.client`.
    """

    def __init__(self, app: ASGIApp, identify: Callable[[str], Awaitable[Token | None]]) -> None:
        self._app = app
        self._identify = identify

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS:
            try:
                client = await self._identify(Headers(scope=scope).get("authorization", ""))
            except StoreError as error:
                await store_response(error)(scope, receive, send)
                return
            if client is None:
                detail = "send a token of this service as `Authorization: Bearer ...`"
                refusal = problem_response(401, detail, headers={"WWW-Authenticate": "Bearer"})
                await refusal(scope, receive, send)
                return
            scope.setdefault("state", {})["client"] = client
        await self._app(scope, receive, send)


class ReadBody:
    """Reads the body ahead, unpacked where it is gzip; answers 413 as soon as it is too long.

    `max_bytes` says how long the body of a path may be. `Content-Length` is believed only where
    it says too much; what comes is counted, and what it unpacks to.
    """

    def __init__(self, app: ASGIApp, max_bytes: Callable[[str], int]) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await self._body(scope, receive)
        except RequestError as error:
            field = error.field
            headers = {"Connection": "close"}
            refusal = problem_response(error.status, error.detail, field, headers=headers)
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

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """The whole body; raises `RequestError` 413, 415 or 400."""
        headers = Headers(scope=scope)
        most = self._max_bytes(scope["path"])
        declared = headers.get("content-length", "0")
        if declared.isdigit() and int(declared) > most:
            raise _too_long(most)
        encoding = headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("identity", "gzip"):
            refused = f"a body may be plain or gzip, not {encoding[:32]!r}"
            raise RequestError(415, refused, "Content-Encoding")
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16) if encoding == "gzip" else None
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return b""
            chunk = message.get("body", b"")
            if unpacker is not None:
                try:
                    chunk = unpacker.decompress(chunk, most - size + 1)
                except zlib.error as error:
                    raise RequestError(400, "the body is not gzip", "body") from error
            chunks.append(chunk)
            size += len(chunk)
            if size > most:
                raise _too_long(most)
            if not message.get("more_body", False):
                if unpacker is not None and not unpacker.eof:
                    raise RequestError(400, "the body is not whole: its gzip does not end", "body")
                return b"".join(chunks)


def _too_long(most: int) -> RequestError:
    return RequestError(413, f"the body is longer than {most} bytes", "body")
