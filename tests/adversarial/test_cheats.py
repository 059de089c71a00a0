"""No cheat is accepted, no twin refused, and every cheat is one; see README.md."""

from __future__ import annotations

import os

import pytest

from _pytest.mark.structures import ParameterSet

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


def held() -> list[ParameterSet]:
    """Each fixture, with what its refusal depends on."""
    root = pytest.mark.skipif(os.geteuid() != 0, reason="needs users of its own")
    return [
        pytest.param(
            fixture,
            id=fixture.name,
            marks=[
                *([root] if fixture.root else []),
                *([pytest.mark.xfail(strict=True, reason=fixture.pending)] if fixture.pending else []),
            ],
        )
        for fixture in CPU
    ]


@pytest.mark.parametrize("fixture", held())
def test_the_cheat_gets_nothing(arena: Arena, fixture: Fixture) -> None:
    with planted(fixture):
        assert not_held(fixture, arena.meet(fixture, "cheat")) == []


@pytest.mark.parametrize("fixture", CPU, ids=named)
def test_the_honest_twin_is_correct(arena: Arena, fixture: Fixture) -> None:
    with planted(fixture):
        assert not_honoured(arena.meet(fixture, "twin")) == []
