"""Who calls: finds the token of an `Authorization` header.

The stored tokens are few, so all of them are kept, for at most `FRESH_S`: a known one is
looked up in memory, and a revocation takes effect within that time. An unknown one makes them
be read again, since it may have been created just now; all who wait share one reading, so
guessing costs one reading at a time, and nothing is kept of the guesses. Without an answer of
the store nobody is let in but those whose tokens are fresh, and the operator.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Awaitable, Callable, Mapping

from pydantic import SecretStr

from reward_service.digest import sha256
from reward_service.jobs.tokens import LOCAL, OPERATOR, Token

FRESH_S = 2.0


class Authentication:
    """`read` gives the stored tokens by digest, or raises `StoreError`.

    `operator` is the token of the settings; `optional`: no header at all will do.
    """

    def __init__(
        self,
        read: Callable[[], Awaitable[Mapping[str, Token]]],
        operator: SecretStr | None,
        optional: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._operator = None if operator is None else sha256(operator.get_secret_value())
        self._optional = optional
        self._clock = clock
        self._tokens: Mapping[str, Token] = {}
        self._read_at = float("-inf")
        self._reading: asyncio.Task[None] | None = None

    async def identify(self, authorization: str) -> Token | None:
        """The token that a header's value holds; None: none that counts. Raises `StoreError`."""
        if not authorization and self._optional:
            return LOCAL
        scheme, _, secret = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return None
        sent = sha256(secret.strip())
        # A person chose it, so its digest must not be found out byte by byte.
        if self._operator is not None and hmac.compare_digest(sent, self._operator):
            return OPERATOR
        return await self._stored(sent)

    async def _stored(self, sent: str) -> Token | None:
        asked = self._clock()
        if sent in self._tokens and asked - self._read_at < FRESH_S:
            return self._tokens[sent]
        while self._read_at < asked:
            if self._reading is None or self._reading.done():
                self._reading = asyncio.create_task(self._read_all())
            # One that goes away must not take the others' reading along.
            await asyncio.shield(self._reading)
        return self._tokens.get(sent)

    async def _read_all(self) -> None:
        began = self._clock()
        self._tokens = await self._read()
        self._read_at = began
