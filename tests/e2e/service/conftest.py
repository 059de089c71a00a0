"""One fleet a module: starting processes is what takes the time."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from service_harness import Api, Fleet, http


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A Valkey, a builder and a CPU worker."""
    with Fleet(tmp_path_factory.mktemp("fleet")) as fleet:
        fleet.start_both()
        yield fleet


@pytest.fixture(scope="module")
def api(fleet: Fleet) -> Iterator[Api]:
    with Api(fleet.settings) as api:
        yield api


@pytest.fixture
def client(api: Api) -> Iterator[httpx.Client]:
    with http(api) as client:
        yield client
