"""Connections to Valkey or Redis.

Calls are retried for a moment (a restart on the same host takes less), then fail as
`StoreError`, so that a caller can answer 503 or wait by its own rules. The client's own
defaults would hang for up to a minute.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.retry import Retry

from reward_service.errors import StoreError

Client: TypeAlias = Any
"""A `redis.Redis`. Its annotations cannot say that every reply here is bytes, and they differ
between the major versions that we admit, so they are not used."""
Pipeline: TypeAlias = Any
"""A `redis.client.Pipeline`, untyped likewise."""

CALL_TIMEOUT_S = 5.0
CONNECT_TIMEOUT_S = 2.0


def connect(url: str, retries: int = 3) -> Client:
    """A pooled client that threads may share; it connects when it is first used."""
    return redis.Redis.from_url(
        url,
        socket_timeout=CALL_TIMEOUT_S,
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        retry=Retry(ExponentialBackoff(cap=0.5, base=0.05), retries),
    )


def connect_reader(url: str, block_s: float) -> Client:
    """A client for calls that block for `block_s`; it finds a dead peer soon after."""
    return redis.asyncio.Redis.from_url(
        url,
        socket_timeout=block_s + CALL_TIMEOUT_S,
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        retry=AsyncRetry(NoBackoff(), 0),
    )


@contextmanager
def store_errors() -> Iterator[None]:
    """Turns the client library's errors into `StoreError`."""
    try:
        yield
    except redis.RedisError as error:
        raise StoreError(f"Valkey does not answer: {error}") from error
