"""`bench build`: what it says of real builds by real builder processes at once."""

from __future__ import annotations

import ast
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import build_speed
from reward_service.bench.build import Result, measure, warm_up
from reward_service.bench.builders import Row, builders
from reward_service.bench.memory import MemoryWatch
from reward_service.bench.variants import KINDS, Device, Signatures, variants
from reward_service.errors import InfrastructureError
from reward_service.findings import Built
from reward_service.formats import kernelbench
from reward_service.schemas import BuildReport
from reward_service.settings import Settings
from tests.e2e.test_build import LEVEL, PLAIN_MODULE, UID_BASE, program

ROOT = Path(__file__).parents[2]


@pytest.fixture
def own(tmp_path: Path) -> Settings:
    return Settings(state_dir=tmp_path, min_isolation=LEVEL, runner_uid_base=UID_BASE)


def quick(count: int, start: int = 0) -> list[str]:
    """Candidates without torch's headers: half a second each."""
    return [
        program(cpp=PLAIN_MODULE % f"#define ANSWER {number}")
        for number in range(start, start + count)
    ]


def test_builders_share_one_store_and_every_build_counts(own: Settings) -> None:
    said: list[str] = []
    sources = [*quick(3), "class ModelNew(:"]
    result = measure(own, sources, 2, said.append)
    assert len(result.rows) == 4
    assert result.builds_per_s == 4 / result.wall_s
    paths = result.paths()
    assert paths.pop("none") == 1
    assert sum(paths.values()) == 3
    assert "cache" not in paths
    (failure,) = result.failures()
    assert failure.startswith("BUILD_FAILED: ")
    assert "built 4 of 4" in said
    assert max(row.seconds for row in result.rows) <= result.wall_s < 60
    assert result.largest_process_bytes > 10 << 20
    assert len(list(own.artifact_dir.glob("??/*/*.so"))) == 3

    start, again = warm_up(own, quick(4), said.append)
    assert again.paths()["cache"] == 3
    assert len(again.rows) == 4
    assert start.open_s > 0
    assert any(made["bytes"] > 1 << 20 for made in start.precompiled.values())
    assert 0 < start.first_builds_s == again.wall_s


def test_a_builder_that_dies_fails_the_measurement(own: Settings) -> None:
    with builders(1, own) as (worker,):
        worker.process.kill()
        worker.process.join()
        with pytest.raises(InfrastructureError, match="died"):
            worker.largest_process_bytes()


def test_a_builder_that_cannot_start_says_why(tmp_path: Path) -> None:
    broken = Settings(state_dir=tmp_path, min_isolation=LEVEL, artifact_store="redis")
    with (
        pytest.raises(InfrastructureError, match="ARTIFACT_STORE is redis"),
        builders(1, broken),
    ):
        pass


def test_memory_of_all_below_a_process_is_seen() -> None:
    hold = "import sys; x = bytearray(80 << 20); print('held', flush=True); sys.stdin.read()"
    nest = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {hold!r}], check=True)"
    with subprocess.Popen(
        [sys.executable, "-c", nest], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        watch = MemoryWatch([process.pid])
        watch.look()
        assert 80 << 20 < watch.peak_bytes < 160 << 20
        process.communicate()
    seen = watch.peak_bytes
    watch.look()
    assert watch.peak_bytes == seen


def _result(*seconds: float, fallback: str | None = None) -> Result:
    report = BuildReport(path="split" if fallback is None else "stock", fallback=fallback)
    return Result(1, tuple(Row(s, Built(report=report)) for s in seconds), 2.0, 0, 0)


def test_the_numbers_follow_from_the_rows() -> None:
    result = _result(3.0, 1.0, 2.0)
    assert [result.latency_s(p) for p in (50, 95, 100)] == [2.0, pytest.approx(2.9), 3.0]
    assert result.builds_per_s == 1.5
    assert _result(1.0).latency_s(50) == 1.0
    assert _result(1.0, fallback="device_pass: x: y").paths() == {"stock (device_pass)": 1}
    assert json.loads(json.dumps(result.as_dict()))["paths"] == {"split": 3}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("signatures", ["seen", "unseen"])
def test_no_variant_was_seen_before(device: Device, signatures: Signatures) -> None:
    sources = variants(device, 4 * KINDS, signatures) + variants(device, 4 * KINDS, signatures)
    calls = []
    for source in sources:
        extraction = kernelbench.extract(source)
        assert not hasattr(extraction, "reason"), "a builder reads the call off the source"
        (call,) = extraction.calls
        assert call.with_cuda == (device == "cuda")
        assert "$" not in "".join(call.cpp_sources + call.cuda_sources)
        calls.append(call)
    assert len({call.key for call in calls}) == len(calls)
    names = {call.functions for call in calls}
    assert len(names) == (1 if signatures == "seen" else len(calls))


def test_variants_are_programs() -> None:
    for source in variants("cuda", KINDS, "unseen"):
        assert {"extension", "ModelNew"} <= {
            node.targets[0].id if isinstance(node, ast.Assign) else node.name
            for node in ast.parse(source).body
            if isinstance(node, ast.Assign | ast.ClassDef)
        }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--device", "tpu"], "cpu or cuda"), (["--count", "0"], "--count"), ([], "ARTIFACT_STORE")],
)
def test_what_cannot_be_measured_is_told_with_status_3(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    env = {**os.environ, "REWARD_SERVICE_STATE_DIR": str(tmp_path)}
    env |= {"REWARD_SERVICE_ARTIFACT_STORE": "redis", "PYTHONPATH": str(ROOT)}
    env.pop("REDIS_URL", None)
    command = [sys.executable, "-m", "reward_service.cli", "bench", "build", *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert said in done.stderr


def test_the_benchmark_compares_both_ways_to_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With programs that compile in no time; what is compared is not looked at here."""
    numbers = itertools.count(1000)

    def quick_variants(_: Device, count: int, __: Signatures) -> list[str]:
        forward = "class ModelNew:\n    def __call__(self, x): return x * m.answer()\n"
        return [
            quick(1, next(numbers))[0].replace("class ModelNew: pass\n", forward)
            for _ in range(count)
        ]

    output = tmp_path / "speed.json"
    monkeypatch.setattr(build_speed, "variants", quick_variants)
    monkeypatch.setattr(build_speed, "ALONE", 1)
    monkeypatch.setattr(sys, "argv", ["x", str(output), "--cpu", "--count=2", "--stock-count=2"])
    assert build_speed.main() == 0
    told = json.loads(output.read_text())
    assert told["complete"]
    assert told["same_output"]
    assert told["stock"]["at_once"]["builds"] == 2
    assert len(set(told["stock"]["at_once"]["outputs"])) == 2
    assert told["ours"]["sustained_cold_binding"]["builds"] == 2
    alone = told["stock"]["alone"]["latency_s"]["p50"]
    ours = told["ours"]["alone_warm_binding"]["latency_s"]["p50"]
    assert told["ratios"]["latency_warm_binding"] == pytest.approx(alone / ours)
    assert told["ratios"].keys() == {
        f"{what}_{binding}_binding"
        for what in ("latency", "throughput")
        for binding in ("warm", "cold")
    }


def test_the_benchmark_keeps_what_it_has_at_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "speed.json"
    monkeypatch.setattr(sys, "argv", ["x", str(output), "--cpu", "--limit=1"])
    assert build_speed.main() == 1
    told = json.loads(output.read_text())
    assert not told["complete"]
    assert told["provenance"]["script"] == "benchmarks/build_speed.py"
