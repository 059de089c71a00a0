"""Puts the API together."""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import AsyncIterator

from fastapi import FastAPI

from reward_service import __version__
from reward_service.api import catalogue, errors, evaluations, health, page
from reward_service.api.middleware import CountRequests, LimitBody, RequireToken
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

    `app.state.service` is its `Service`. Raises `PrerequisiteError` without `redis_url`, and
    where it would listen beyond this host without a token.
    """
    if settings.redis_url is None:
        raise PrerequisiteError("the API needs a Valkey or Redis", "set REDIS_URL")
    if settings.token is None and not _is_loopback(settings.host):
        raise PrerequisiteError(
            f"{settings.host} can be reached from other hosts, and there is no token",
            "set REWARD_SERVICE_TOKEN, or listen on 127.0.0.1",
        )
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
    for part in (evaluations, catalogue, health, page):
        app.include_router(part.routes(service))
    errors.install(app, lambda: service.rate.retry_after_s(settings.max_queued))
    # The last one added is the first that a request meets.
    app.add_middleware(LimitBody, max_bytes=settings.max_body_bytes)
    if settings.token is not None:
        app.add_middleware(RequireToken, token=settings.token)
    app.add_middleware(CountRequests, count=service.metrics.request)
    return app


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
