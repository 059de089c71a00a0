"""For orchestrators and Prometheus."""

from __future__ import annotations

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from reward_service import __version__
from reward_service.api.service import Service
from reward_service.errors import RequestError
from reward_service.verdicts import harness_hash


def routes(service: Service) -> APIRouter:
    """`/healthz`, `/readyz`, `/metrics`."""
    router = APIRouter(tags=["health"])

    @router.get("/healthz")
    async def healthz() -> dict[str, str]:
        """This process answers; it says nothing of the others."""
        return {"status": "ok", "version": __version__, "harness": harness_hash()}

    @router.get("/readyz")
    def readyz() -> dict[str, int]:
        """Work can be done: Valkey answers, a builder and a worker live; otherwise 503."""
        service.store.ping()
        alive = service.registry.alive()
        builders = sum(p.kind == "builder" for p in alive)
        workers = sum(p.serves for p in alive)
        if not builders or not workers:
            raise RequestError(503, f"live builders: {builders}, live workers: {workers}")
        return {"builders": builders, "workers": workers}

    @router.get("/metrics", response_class=Response)
    def metrics() -> Response:
        """In Prometheus' text format."""
        return Response(service.metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    return router
