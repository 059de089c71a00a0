"""Who may call, and how much: bearer tokens.

A token is a secret that is shown once, when it is made. Valkey holds only its SHA-256, which
is as good as the secret for telling whether it is the right one, since 32 random bytes cannot
be guessed. The name of a token is the *client*: all that is counted or shared goes by it.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable

import redis
from pydantic import BaseModel, ConfigDict, Field

from reward_service.digest import sha256
from reward_service.errors import QuotaError
from reward_service.jobs import keys
from reward_service.jobs.connection import Client, store_errors
from reward_service.jobs.record import LOCAL_CLIENT

PREFIX = "rs_"
SECRET_BYTES = 32
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class Token(BaseModel):
    """What is known of a token, but for its secret."""

    model_config = ConfigDict(frozen=True)

    name: str
    created: float = 0.0
    """When it was made, in Unix seconds."""
    max_waiting: int | None = Field(default=None, ge=1)
    """Evaluations that its client started and that wait or run, at most; None: any number."""


LOCAL = Token(name=LOCAL_CLIENT)
"""Stands for whoever calls from this host without a token."""
OPERATOR = Token(name="operator")
"""The token of the settings."""
RESERVED = frozenset({LOCAL.name, OPERATOR.name})


class Tokens:
    """The stored tokens. `now` gives Unix seconds; all methods raise `StoreError`."""

    def __init__(self, client: Client, now: Callable[[], float] = time.time) -> None:
        self._client = client
        self._now = now

    def create(self, name: str, max_waiting: int | None = None) -> str | None:
        """Make a token: its secret, which nobody can find out later; None: the name is taken."""
        secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
        token = Token(name=name, created=self._now(), max_waiting=max_waiting)
        with store_errors(), self._client.pipeline() as pipe:
            while True:
                try:
                    pipe.watch(keys.TOKENS)
                    if any(known.name == name for known in _parsed(pipe).values()):
                        return None
                    pipe.multi()
                    pipe.hset(keys.TOKENS, sha256(secret), token.model_dump_json())
                    pipe.execute()
                    return secret
                except redis.WatchError:
                    continue

    def revoke(self, name: str) -> bool:
        """Make a token worthless; False: there is none of this name."""
        named = [known for known, token in self.by_digest().items() if token.name == name]
        with store_errors():
            return bool(named and self._client.hdel(keys.TOKENS, *named))

    def by_digest(self) -> dict[str, Token]:
        """All tokens, by the digest of their secrets."""
        with store_errors():
            return _parsed(self._client)


def require_room(client: Token, count: int, reader: Client) -> None:
    """Raise `QuotaError` unless the client may start `count` evaluations more.

    It is a look, not a reservation: submissions taken at the same instant may all pass it, so
    the quota can be exceeded by as many as are being taken at once.
    """
    if client.max_waiting is None:
        return
    unfinished = int(reader.scard(keys.unfinished(client.name)))
    if unfinished + count > client.max_waiting:
        raise QuotaError(client.name, client.max_waiting, unfinished)


def _parsed(reader: Client) -> dict[str, Token]:
    found = reader.hgetall(keys.TOKENS)
    return {key.decode(): Token.model_validate_json(text) for key, text in found.items()}
