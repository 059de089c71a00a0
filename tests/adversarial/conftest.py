"""One service for the whole suite."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from reward_service.settings import Settings
from tests.adversarial.arena import Arena, open_arena


@pytest.fixture(scope="session")
def arena(settings: Settings) -> Iterator[Arena]:
    # Apart for each worker of pytest-xdist: the tests look at all that runs under these users.
    base = settings.runner_uid_base + 256 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    with open_arena(settings.model_copy(update={"runner_uid_base": base}), "cpu") as arena:
        yield arena
