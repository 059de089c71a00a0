"""The whole service as a user starts it, on the CPU: real HTTP, RQ, Valkey, compilers, judge.

The loss of a builder, of Valkey and of the API is shown with stand-in stages in `service/`; here
the real worker dies with a real evaluation in its hands.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from reward_service.schemas import Outcome, Reason, Verdict
from reward_service.settings import Settings
from tests.e2e.test_judge_cpu import HONEST, PROBLEM, with_forward

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def url(settings: Settings) -> Iterator[str]:
    """A service of our own."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    environment = {
        **os.environ,
        "REWARD_SERVICE_STATE_DIR": str(settings.state_dir),
        "REWARD_SERVICE_MIN_ISOLATION": settings.min_isolation,
        "REWARD_SERVICE_TIMING_BUDGET_S": "1",
        "REWARD_SERVICE_LEASE_S": "2",
    }
    environment.pop("REDIS_URL", None)
    command = [sys.executable, "-m", "reward_service.cli", "up", "--cpu", "--port", str(port)]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL) as process:
        address = f"http://127.0.0.1:{port}"
        try:
            wait_for(lambda: ready(address), 120)
            yield address
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)


def ready(address: str) -> bool:
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(f"{address}/readyz").status_code == 200
    return False


def wait_for(condition, limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def evaluate(url: str, problem: dict[str, str], source: str, **policy: object) -> Verdict:
    body = {
        "problem": problem,
        "candidate": {"source": source},
        "policy": {"device": "cpu", **policy},
    }
    answer = httpx.post(f"{url}/evaluate", json=body, timeout=290)
    assert answer.status_code == 200, answer.text
    return Verdict.model_validate(answer.json())


INLINE = {"source": PROBLEM}


def test_a_kernel_goes_in_and_a_verdict_comes_out(url):
    source = (ROOT / "examples/level1/mean_variance/cpu.py").read_text()
    verdict = evaluate(url, {"name": "level1/mean_variance"}, source)
    assert verdict.outcome is Outcome.CORRECT, verdict
    assert verdict.speedup.low > 1
    assert verdict.reward > 1
    assert verdict.build.path == "split"
    assert verdict.provenance.device_class == "cpu"
    assert verdict.provenance.isolation in ("standard", "reduced")
    assert {"build", "judge", "load", "correctness", "timing", "total"} <= set(verdict.stages)
    again = evaluate(url, {"name": "level1/mean_variance"}, source)
    assert again == verdict


OUTCOMES = {
    "built": (HONEST, {"stop_after": "build"}, Outcome.BUILT, None),
    "correct": (HONEST, {"library": "allow"}, Outcome.CORRECT, None),
    "incorrect": (
        with_forward("return self.right(x) * 2"),
        {"library": "allow"},
        Outcome.INCORRECT,
        Reason.MISMATCH,
    ),
    "compile_error": ("class ModelNew(", {}, Outcome.COMPILE_ERROR, Reason.BUILD_FAILED),
    "runtime_error": (
        with_forward("ctypes.string_at(0)"),
        {"library": "allow"},
        Outcome.RUNTIME_ERROR,
        Reason.EXCEPTION,
    ),
    "timeout": (
        with_forward("while True: pass"),
        {"library": "allow", "time_limit_s": 0.5},
        Outcome.TIMEOUT,
        Reason.RUN_TIMEOUT,
    ),
    "rejected": (HONEST, {}, Outcome.REJECTED, Reason.NO_CUSTOM_KERNEL),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_every_outcome_is_reached_over_http(url, name):
    source, policy, outcome, reason = OUTCOMES[name]
    verdict = evaluate(url, INLINE, source, **policy)
    assert (verdict.outcome, verdict.reason) == (outcome, reason), verdict.message


def test_a_bad_problem_is_unscored_and_not_retryable(url):
    verdict = evaluate(url, {"source": "x = 1"}, HONEST)
    assert (verdict.outcome, verdict.reason) == (Outcome.UNSCORED, Reason.BAD_PROBLEM)
    assert verdict.reward is None
    assert not verdict.retryable
    assert "Model" in verdict.message


def test_an_evaluation_survives_the_death_of_its_worker(url):
    # Slow enough that its worker dies in the middle of it.
    slow = with_forward("time.sleep(0.3)\nreturn self.right(x)")
    answers: list[Verdict] = []
    thread = threading.Thread(
        target=lambda: answers.append(evaluate(url, INLINE, slow, library="allow", timing=False))
    )
    thread.start()
    wait_for(lambda: "running" in states(url), 60)
    killed = worker_pid(url)
    os.kill(killed, signal.SIGKILL)
    thread.join(timeout=200)
    assert [verdict.outcome for verdict in answers] == [Outcome.CORRECT]
    assert worker_pid(url) != killed


def states(url: str) -> str:
    """What the service says that its devices do."""
    devices = httpx.get(f"{url}/devices").json()
    return "running" if any(device["state"] == "busy" for device in devices) else "idle"


def worker_pid(url: str) -> int:
    """The process of the CPU's worker; its name holds the pid."""
    (device,) = httpx.get(f"{url}/devices").json()
    return int(device["worker"].rsplit("-", 2)[1])
