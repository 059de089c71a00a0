"""Puts the API together."""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import AsyncIterator

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware

from reward_service import __version__
from reward_service.api import (
    batches,
    catalogue,
    errors,
    evaluations,
    events,
    health,
    openapi,
    page,
)
from reward_service.api.authentication import Authentication
from reward_service.api.middleware import Authenticate, CountRequests, ReadBody
from reward_service.api.service import Service
from reward_service.errors import PrerequisiteError
from reward_service.problems.library import ProblemLibrary
from reward_service.rewards.book import RewardBook
from reward_service.settings import Settings


def create_app(
    settings: Settings,
    *,
    library: ProblemLibrary | None = None,
    book: RewardBook | None = None,
) -> FastAPI:
    """The API as an ASGI application; it starts, and answers 503, without Valkey too.

    `app.state.service` is its `Service`. Tokens are optional on loopback, unless the settings
    have one; anywhere else a request without one is refused, whether any is stored or not.
    Raises `PrerequisiteError` without `redis_url`.
    """
    if settings.redis_url is None:
        raise PrerequisiteError("the API needs a Valkey or Redis", "set REDIS_URL")
    service = Service(
        settings,
        settings.redis_url.get_secret_value(),
        ProblemLibrary(settings.problem_dirs) if library is None else library,
        RewardBook(settings.reward_file) if book is None else book,
    )

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with service.running():
            yield

    app = FastAPI(title="reward-service", version=__version__, lifespan=lifespan)
    app.state.service = service
    for part in (evaluations, batches, events, catalogue, health, page):
        app.include_router(part.routes(service))
    errors.install(app, service.refused)
    openapi.install(app)
    # The last one added is the first that a request meets.
    app.add_middleware(ReadBody, max_bytes=lambda path: _longest_body(settings, path))
    app.add_middleware(GZipMiddleware, minimum_size=1_000, compresslevel=4)
    optional = settings.token is None and is_loopback(settings.host)
    authentication = Authentication(service.tokens, settings.token, optional)
    app.add_middleware(Authenticate, identify=authentication.identify)
    app.add_middleware(CountRequests, count=service.metrics.request)
    return app


def _longest_body(settings: Settings, path: str) -> int:
    return settings.max_batch_bytes if path == batches.PATH else settings.max_body_bytes


def is_loopback(host: str) -> bool:
    """Whether an address to listen on can be reached from this host only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
