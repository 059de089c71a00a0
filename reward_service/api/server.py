"""Runs the API in this process."""

from __future__ import annotations

import asyncio
import logging
import socket
from types import FrameType

import uvicorn
from fastapi import FastAPI

from reward_service.errors import PrerequisiteError

log = logging.getLogger(__name__)

BACKLOG = 2_048
STALL_MS = 30_000
KEEP_ALIVE_S = 75
"""Longer than clients and proxies keep an idle connection, so that they close it and not we, who
might do so just as a request comes."""
GRACE_S = 10
"""Seconds for answers under way once the process is told to end."""


class _Server(uvicorn.Server):
    """Lets long-polling clients go when the process is told to end, so that it can."""

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._service = app.state.service
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._service.waiters.release)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0: any. Raises `PrerequisiteError` where there is none to have."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = f"cannot listen on {host}:{port}: {error.strerror or error}"
        raise PrerequisiteError(reason, "give another --host or --port") from error
    # Connections inherit it. asyncio sets it only on sockets that it made itself, and without
    # it each answer waits 40 ms for the client's delayed acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # Who takes nothing of what was sent is gone; to close its connection would wait for it too.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STALL_MS)
    return listener


def make_server(app: FastAPI) -> uvicorn.Server:
    """The server of `create_app`'s application."""
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
    )
    return _Server(config, app)


def serve(app: FastAPI, listener: socket.socket) -> None:
    """Answer on `listener` until SIGTERM or SIGINT; then finish what is under way."""
    host, port = listener.getsockname()[:2]
    log.info("the API listens on %s, port %d", host, port)
    make_server(app).run(sockets=[listener])
    log.info("the API has stopped")
