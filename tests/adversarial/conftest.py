"""One service for the whole suite, with shorter measurements than usual."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from reward_service.build.stage import BuildStage
from reward_service.settings import Settings
from reward_service.worker.supervisor import Supervisor
from tests.adversarial.arena import Arena


@pytest.fixture(scope="session")
def quick_settings(settings: Settings) -> Settings:
    # Apart for each worker of pytest-xdist: the tests look at all that runs under these users.
    base = settings.runner_uid_base + 256 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    return settings.model_copy(update={"timing_budget_s": 0.3, "runner_uid_base": base})


@pytest.fixture(scope="session")
def builder(quick_settings: Settings) -> Iterator[BuildStage]:
    with BuildStage(quick_settings) as stage:
        yield stage


@pytest.fixture(scope="session")
def tight_builder(quick_settings: Settings) -> Iterator[BuildStage]:
    """For bombs: its limits are a matter of seconds."""
    tight = {
        "build_timeout_s": 8.0,
        "build_memory_bytes": 512 << 20,
        "build_output_bytes": 4 << 20,
    }
    with BuildStage(quick_settings.model_copy(update=tight), prepare=False) as stage:
        yield stage


@pytest.fixture(scope="session")
def arena(
    quick_settings: Settings, builder: BuildStage, tight_builder: BuildStage
) -> Iterator[Arena]:
    with Supervisor(quick_settings, "cpu") as supervisor:
        yield Arena(quick_settings, builder, tight_builder, supervisor, "cpu")
