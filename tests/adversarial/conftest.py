"""One service on each device for the whole suite."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from reward_service.settings import Settings
from tests.adversarial.arena import Arena, open_arena
from tests.adversarial.fixture import Device


@pytest.fixture(scope="session")
def arena_on(settings: Settings) -> Iterator[Callable[[Device], Arena]]:
    """The service on a device, started when it is first asked for."""
    # Apart from the tests' other service, and for each worker of pytest-xdist: what is left behind
    # is whatever runs under these users.
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    base = settings.runner_uid_base + 256 * (1 + worker)
    own = settings.model_copy(update={"runner_uid_base": base})
    with ExitStack() as stack:
        yield cache(lambda device: stack.enter_context(open_arena(own, device)))


@pytest.fixture
def arena(arena_on: Callable[[Device], Arena]) -> Arena:
    """The service on the CPU."""
    return arena_on("cpu")
