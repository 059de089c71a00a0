"""`bench build`: what it says of real builds by real builder processes at once."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reward_service.bench.build import Result, measure, precompiled_headers, warm_up
from reward_service.bench.builders import Row, builders
from reward_service.bench.memory import MemoryWatch
from reward_service.bench.variants import KINDS, Device, Signatures, variants
from reward_service.errors import InfrastructureError
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
    return Result(1, tuple(Row(s, report, None) for s in seconds), 2.0, 0, 0)


def test_the_numbers_follow_from_the_rows() -> None:
    result = _result(3.0, 1.0, 2.0)
    assert [result.latency_s(p) for p in (50, 95, 100)] == [2.0, pytest.approx(2.9), 3.0]
    assert result.builds_per_s == 1.5
    assert _result(1.0).latency_s(50) == 1.0
    assert _result(1.0, fallback="device_pass: x: y").paths() == {"stock (device_pass)": 1}
    assert json.loads(json.dumps(result.as_dict()))["paths"] == {"split": 3}


def test_precompiled_headers_are_found_with_their_size(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.pch").write_bytes(bytes(5))
    (tmp_path / "y.gch").write_bytes(bytes(7))
    (tmp_path / "z.o").write_bytes(bytes(9))
    assert precompiled_headers(tmp_path) == {"a/x.pch": 5, "y.gch": 7}


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
