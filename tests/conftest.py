"""Fixtures that many tests share: one judge for the CPU device, since starting it takes seconds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reward_service.devices.detect import device_names
from reward_service.findings import Built, Context, Judgement
from reward_service.schemas import BuildReport, Submission
from reward_service.settings import Settings
from reward_service.worker.supervisor import Supervisor

Judge = Callable[..., Judgement]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a GPU where there is none."""
    if not device_names():
        skip = pytest.mark.skip(reason="no CUDA device")
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(skip)


@pytest.fixture(scope="session")
def state_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where artifacts and calibrations of this test run are kept.

    REWARD_SERVICE_TEST_STATE_DIR keeps them for the next one.
    """
    kept = os.environ.get("REWARD_SERVICE_TEST_STATE_DIR")
    return Path(kept) if kept else tmp_path_factory.mktemp("state")


@pytest.fixture(scope="session", autouse=True)
def _header_dir(state_dir: Path) -> Iterator[None]:
    """Precompiled headers are made once in a test run, whatever state directories it uses."""
    name = "REWARD_SERVICE_PRECOMPILED_DIR"
    before = os.environ.get(name)
    os.environ[name] = before or str(state_dir / "precompiled")
    yield
    if before is None:
        del os.environ[name]


@pytest.fixture(scope="session")
def settings(state_dir: Path) -> Settings:
    """Settings of this test run: short measurements, and what isolation the user can have."""
    return Settings(
        state_dir=state_dir,
        min_isolation="standard" if os.geteuid() == 0 else "reduced",
        timing_budget_s=1.0,
    )


@pytest.fixture(scope="session")
def supervisor(settings: Settings) -> Iterator[Supervisor]:
    """The judge of the CPU device."""
    with Supervisor(settings, "cpu") as running:
        yield running


@pytest.fixture
def judge(supervisor: Supervisor) -> Judge:
    """Judge a candidate that needs no build, on the CPU."""
    return judge_on(supervisor)


def judge_on(supervisor: Supervisor) -> Judge:
    """A function that judges a candidate that needs no build."""

    def judge(problem: str, candidate: str, deadline_s: float = 120, **policy: object) -> Judgement:
        submission = Submission.model_validate(
            {
                "problem": {"source": problem},
                "candidate": {"source": candidate},
                "policy": {"library": "allow", **policy},
            }
        )
        return supervisor.judge(
            submission,
            problem,
            Built(report=BuildReport(path="none")),
            Context(id="test", deadline=time.time() + deadline_s),
        )

    return judge
