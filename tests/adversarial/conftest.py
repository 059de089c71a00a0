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
    # Apart for each worker of pytest-xdist: the tests look at all that runs under these users.
    base = settings.runner_uid_base + 256 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    own = settings.model_copy(update={"runner_uid_base": base})
    with ExitStack() as stack:
        yield cache(lambda device: stack.enter_context(open_arena(own, device)))


@pytest.fixture
def arena(arena_on: Callable[[Device], Arena]) -> Arena:
    """The service on the CPU."""
    return arena_on("cpu")
