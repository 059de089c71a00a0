"""No cheat is accepted, no twin refused, and every cheat is one; see README.md."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.adversarial.arena import Arena, planted
from tests.adversarial.fixture import Device, Fixture, fixtures
from tests.adversarial.judgement import not_fooled, not_held, not_honoured

ArenaOn = Callable[[Device], Arena]


def on_each_device(*, held: bool) -> list[object]:
    """Every fixture on each of its devices; `held`: with what its refusal depends on."""
    cases = []
    for fixture in fixtures():
        for device in fixture.devices:
            marks = [pytest.mark.gpu] if device == "cuda" else []
            if held and fixture.root:
                marks.append(pytest.mark.skipif(os.geteuid() != 0, reason="needs users of its own"))
            if held and fixture.pending:
                marks.append(pytest.mark.xfail(strict=True, reason=fixture.pending))
            cases.append(pytest.param(fixture, device, id=f"{fixture.name}-{device}", marks=marks))
    return cases


@pytest.mark.parametrize(("fixture", "device"), on_each_device(held=False))
def test_the_weak_harness_is_fooled(arena_on: ArenaOn, fixture: Fixture, device: Device) -> None:
    with planted(fixture):
        assert not_fooled(fixture, arena_on(device).fool(fixture)) == []


@pytest.mark.parametrize(("fixture", "device"), on_each_device(held=True))
def test_the_cheat_gets_nothing_and_its_twin_right_after_it_is_correct(
    arena_on: ArenaOn, fixture: Fixture, device: Device
) -> None:
    arena = arena_on(device)
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
