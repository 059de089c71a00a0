"""What a client can ask for: problems, reward configs, devices."""

from __future__ import annotations

from fastapi import APIRouter

from reward_service.api.service import Service
from reward_service.schemas import DeviceInfo, ProblemInfo, RewardInfo


def routes(service: Service) -> APIRouter:
    """`/problems`, `/rewards`, `/devices`."""
    router = APIRouter(tags=["catalogue"])

    @router.get("/problems")
    def problems() -> list[ProblemInfo]:
        """The problems that the service has, by name."""
        return service.library.list()

    @router.get("/rewards")
    def rewards() -> list[RewardInfo]:
        """The reward configs that the service has, by name."""
        return service.book.list()

    @router.get("/devices")
    def devices() -> list[DeviceInfo]:
        """The devices of live workers."""
        return [p.device for p in service.registry.alive() if p.device is not None]

    return router
