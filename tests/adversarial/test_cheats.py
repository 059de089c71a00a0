"""No cheat is accepted, no twin refused, and every cheat is one; see README.md."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.adversarial.arena import Arena, planted
from tests.adversarial.fixture import Fixture, fixtures
from tests.adversarial.judgement import not_fooled, not_held, not_honoured

CPU = [fixture for fixture in fixtures() if "cpu" in fixture.devices]


def named(fixture: Fixture) -> str:
    return fixture.name


@pytest.mark.parametrize("fixture", CPU, ids=named)
def test_the_weak_harness_is_fooled(arena: Arena, fixture: Fixture) -> None:
    with planted(fixture):
        assert not_fooled(fixture, arena.fool(fixture)) == []


def held(fixture: Fixture) -> object:
    """A fixture, with what its refusal depends on."""
    marks = []
    if fixture.root:
        marks.append(pytest.mark.skipif(os.geteuid() != 0, reason="needs users of its own"))
    if fixture.pending:
        marks.append(pytest.mark.xfail(strict=True, reason=fixture.pending))
    return pytest.param(fixture, id=fixture.name, marks=marks)


@pytest.mark.parametrize("fixture", [held(fixture) for fixture in CPU])
def test_the_cheat_gets_nothing_and_its_twin_right_after_it_is_correct(
    arena: Arena, fixture: Fixture
) -> None:
    with planted(fixture):
        complaints = not_held(fixture, arena.meet(fixture, "cheat")) + arena.left_behind()
        complaints += not_honoured(arena.meet(fixture, "twin"))
        assert complaints == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs users of its own")
def test_what_is_left_behind_is_seen(arena: Arena) -> None:
    uid = arena.settings.runner_uid_base + 255
    mark = Path(f"/var/tmp/rs-left-{uid}")
    assert arena.left_behind() == []
    with subprocess.Popen(["/bin/sleep", "60"], user=uid, group=uid) as process:
        mark.touch()
        os.chown(mark, uid, uid)
        left = arena.left_behind()
        mark.unlink()
        process.kill()
    assert left == [f"process {process.pid}", str(mark)]
