"""What `doctor` says of this machine, and of one that lacks something."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from reward_service.cli.doctor import doctor
from reward_service.devices.detect import Gpu, gpus, parse

app = typer.Typer()
app.command()(doctor)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {
        "REWARD_SERVICE_STATE_DIR": str(tmp_path),
        "REWARD_SERVICE_MIN_ISOLATION": "standard" if os.geteuid() == 0 else "reduced",
        "REWARD_SERVICE_RUNNER_UID_BASE": "63000",
        "REWARD_SERVICE_ARTIFACT_CACHE_BYTES": "1000000",
    }


def examined(environment: dict[str, str], status: int) -> tuple[dict[str, Any], list[str]]:
    result = CliRunner().invoke(app, ["--json"], env=environment)
    assert result.exit_code == status, result.output
    report = json.loads(result.output)
    return {item["name"]: item for item in report["items"]}, report["can_score"]


def test_a_machine_that_runs_the_tests_can_score_on_its_cpu(environment: dict[str, str]) -> None:
    items, can_score = examined(environment, 0)
    assert "cpu" in can_score
    assert ("cuda" in can_score) <= bool(gpus())
    assert items["isolation"]["ok"]
    assert items["- no_new_privs"]["ok"]
    assert items["queue"]["ok"]
    assert all(item["ok"] or item["fix"] or name[0] == "-" for name, item in items.items())


def test_the_text_says_the_same(environment: dict[str, str]) -> None:
    result = CliRunner().invoke(app, [], env=environment)
    assert result.exit_code == 0
    assert "C++ compiler" in result.output
    assert "This machine can score on: cpu" in result.output


def test_without_a_compiler_it_cannot_score_and_says_what_helps(
    environment: dict[str, str], tmp_path: Path
) -> None:
    lacking = {**environment, "PATH": str(tmp_path), "CXX": "", "CUDA_HOME": ""}
    items, can_score = examined(lacking, 1)
    assert can_score == []
    assert not items["C++ compiler"]["ok"]
    assert "apt-get install" in items["C++ compiler"]["fix"]


def test_a_queue_that_does_not_answer_and_a_full_disk_are_told(
    environment: dict[str, str],
) -> None:
    lacking = {
        **environment,
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "REWARD_SERVICE_ARTIFACT_CACHE_BYTES": str(1 << 60),
    }
    items, can_score = examined(lacking, 1)
    assert "does not answer" in items["queue"]["detail"]
    assert "STATE_DIR" in items["disk"]["fix"]
    assert can_score == []


def test_what_the_driver_says_is_read() -> None:
    assert parse("0, NVIDIA H200, GPU-1, 580.95.05, 143771, 9.0\n") == [
        Gpu(0, "NVIDIA H200", "GPU-1", "580.95.05", 143771 << 20, "9.0")
    ]
    assert parse("No devices were found\n") == []
