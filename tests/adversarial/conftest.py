"""One service for the whole suite, with shorter measurements than usual."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reward_service.build.stage import BuildStage
from reward_service.settings import Settings
from reward_service.worker.supervisor import Supervisor
from tests.adversarial.arena import Arena


@pytest.fixture(scope="session")
def quick_settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"timing_budget_s": 0.3})


@pytest.fixture(scope="session")
def builder(quick_settings: Settings) -> Iterator[BuildStage]:
    with BuildStage(quick_settings) as stage:
        yield stage


@pytest.fixture(scope="session")
def arena(quick_settings: Settings, builder: BuildStage) -> Iterator[Arena]:
    with Supervisor(quick_settings, "cpu") as supervisor:
        yield Arena(quick_settings, builder, supervisor, "cpu")
