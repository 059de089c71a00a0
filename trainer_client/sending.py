"""Sends one request until the service has answered it.

An answer is what the service says about the request: a success, or a refusal. Everything else
is tried again (`retrying`), behind the breaker, for as long as the caller likes to wait: he
cancels. `note` is told what went wrong, so that he can say so when his time is over.

A 503 that blames fields of the request, such as a device class without a worker, is tried again
as well, but it is no failure for the breaker: who asks for something else is served.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import httpx

from trainer_client.breaker import Breaker, Pass
from trainer_client.errors import (
    CLOSED,
    RequestRefusedError,
    RewardClientError,
    ServiceUnavailableError,
    refusal,
)
from trainer_client.retrying import RETRYABLE, Backoff, RetryPolicy, retry_after_s

log = logging.getLogger(__name__)

GIVE_UP_S = 5.0

Note = Callable[[str], None]


@dataclass(frozen=True)
class Request:
    """What to send."""

    method: str
    path: str
    content: Callable[[], bytes] | None = None
    """Makes the body, anew for each try."""
    headers: Mapping[str, str] | None = None
    wait_s: float = 0.0
    """Seconds that the service may wait before it answers."""
    divisible: bool = False
    """It could be sent in parts."""

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True)
class _Again:
    """Why a try was in vain, and how many seconds to stay away at least."""

    why: str
    at_least_s: float = 0.0
    full: RequestRefusedError | None = None
    """It was refused for lack of room."""


class Sender:
    """Requests to one service over one `httpx` client.

    `answer_s`: seconds that an answer may take, beyond the wait that was asked for.
    """

    def __init__(
        self, http: httpx.AsyncClient, breaker: Breaker, retry: RetryPolicy, answer_s: float
    ) -> None:
        self._http = http
        self._breaker = breaker
        self._retry = retry
        self._answer_s = answer_s

    async def send(self, request: Request, note: Note) -> httpx.Response:
        """The answer, of status 2xx.

        Raises `RequestRefusedError` for a 4xx that trying again does not change, and where the
        request is divisible also for a 429, once the pause is over. Raises
        `ServiceUnavailableError` for an answer that makes no sense, such as a 500 to a
        submission, and `RewardClientError` once the client is closed.
        """
        backoff = Backoff(self._retry)
        while True:
            async with self._breaker.passage(note) as given:
                if self._http.is_closed:
                    raise RewardClientError(CLOSED)
                result = await self._try(request, given)
            if isinstance(result, httpx.Response):
                return result
            note(f"{result.why} ({backoff.tries + 1} tries)")
            await asyncio.sleep(backoff.pause_s(result.at_least_s))
            if request.divisible and result.full is not None:
                raise result.full

    async def give_up(self, path: str) -> None:
        """Tell the service, if it can be told now, that nobody waits for this any more."""
        if self._breaker.is_open:
            return
        try:
            await self._http.delete(path, timeout=GIVE_UP_S)
        except httpx.RequestError as error:  # its own deadline ends it there
            log.info("%s could not be given up: %s", path, _what(error))

    async def _try(self, request: Request, given: Pass) -> httpx.Response | _Again:
        # For what becomes of a probe everyone waits.
        wait_s = 0.0 if given.probe else request.wait_s
        try:
            response = await self._http.request(
                request.method,
                request.path,
                content=None if request.content is None else request.content(),
                headers=request.headers,
                params={"wait": f"{wait_s:.3f}"} if wait_s > 0 else None,
                timeout=self._timeout(wait_s),
            )
        except httpx.RequestError as error:
            given.failed(_what(error))
            return _Again(_what(error))
        status = response.status_code
        if response.is_success:
            given.succeeded()
            return response
        if status < 400:
            raise ServiceUnavailableError(f"{request} was answered with {status}")
        refused = refusal(response)
        if status < 500 or (status == 503 and refused.fields):
            given.succeeded()
        else:
            given.failed(str(refused))
        # A server that is made to end answers 500 to whoever waits.
        if status in RETRYABLE or (status == 500 and request.method == "GET"):
            full = refused if status == 429 else None
            return _Again(str(refused), retry_after_s(response.headers.get("Retry-After")), full)
        if status < 500:
            raise refused
        raise ServiceUnavailableError(f"{request} was answered with {refused}")

    def _timeout(self, wait_s: float) -> httpx.Timeout:
        # A free connection is waited for without end: who waits has a deadline of his own.
        return httpx.Timeout(self._answer_s, read=wait_s + self._answer_s, pool=None)


def _what(error: httpx.RequestError) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
