"""Notices that a client has gone away."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from fastapi import Request

T = TypeVar("T")


async def until_gone(request: Request, work: Coroutine[Any, Any, T]) -> T | None:
    """What `work` gives; None if the client goes away before, and then `work` is cancelled.

    The request's body must have been read.
    """
    working = asyncio.create_task(work)
    gone = asyncio.create_task(_gone(request))
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        return await working if working.done() else None
    finally:
        working.cancel()
        gone.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
