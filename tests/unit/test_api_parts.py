"""The small parts of the API that need no server."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from reward_service import verdicts
from reward_service.api import page, prefer
from reward_service.api.app import create_app, is_loopback
from reward_service.api.rate import LONGEST_S, UNKNOWN_S, ServiceRate
from reward_service.api.server import listen
from reward_service.cli.common import load_settings
from reward_service.errors import PrerequisiteError, StoreError
from reward_service.findings import Built, Finding, Judgement
from reward_service.metrics import Metrics
from reward_service.rewards.book import RewardBook
from reward_service.schemas import BuildReport, Reason, Speedup
from reward_service.settings import Settings


@pytest.mark.parametrize(
    ("headers", "wait_s", "applied"),
    [
        ([], None, ""),
        (["respond-async"], 0.0, "respond-async"),
        (["wait=10"], 10.0, "wait=10"),
        (["Respond-Async, WAIT=5"], 5.0, "respond-async, wait=5"),
        (["wait=5", "respond-async"], 5.0, "respond-async, wait=5"),
        (['wait="7"; note=x, return=minimal'], 7.0, "wait=7"),
        (["wait=1, wait=2"], 1.0, "wait=1"),
        (["wait=-1"], None, ""),
        (["wait=soon"], None, ""),
        (["wait=\u0663"], None, ""),
        (["wait"], None, ""),
    ],
)
def test_preferences_are_read(headers: list[str], wait_s: float | None, applied: str) -> None:
    assert prefer.parse(headers) == prefer.Prefer(wait_s, applied)


@given(st.lists(st.text(alphabet="wait=respond-async,; 0123456789\"'", max_size=40), max_size=3))
def test_any_prefer_header_is_read_without_error(headers: list[str]) -> None:
    wait_s = prefer.parse(headers).wait_s
    assert wait_s is None or 0 <= wait_s < 1e9


def test_retry_after_follows_the_measured_rate() -> None:
    now = [0.0]
    rate = ServiceRate(lambda: now[0])
    assert rate.retry_after_s(100) == UNKNOWN_S
    for _ in range(20):
        rate.ended()
        now[0] += 1.0
    assert rate.retry_after_s(100) == 10, "ten slots at one a second"
    assert rate.retry_after_s(100_000) == LONGEST_S
    now[0] += 1_000
    assert rate.retry_after_s(100) == UNKNOWN_S, "what is long ago says nothing"


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        *((host, False) for host in ("0.0.0.0", "::", "192.0.2.7", "example.org", "")),
        *((host, True) for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost")),
    ],
)
def test_what_can_be_reached_from_other_hosts_is_not_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_without_a_store_there_is_no_api(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REDIS_URL", raising=False)
    with pytest.raises(PrerequisiteError, match="REDIS_URL"):
        create_app(Settings())


def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARD_SERVICE_MAX_ATTEMPTS", "0")
    with pytest.raises(PrerequisiteError, match="REWARD_SERVICE_MAX_ATTEMPTS is wrong"):
        load_settings()


def test_connections_send_without_delay() -> None:
    with listen("127.0.0.1", 0) as listener:
        client = socket.create_connection(listener.getsockname())
        accepted, _ = listener.accept()
        with client, accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_port_that_is_taken_is_said_to_be() -> None:
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(PrerequisiteError, match=rf"127.0.0.1:{port}: .*--port"):
            listen("127.0.0.1", port)


def test_the_page_shows_text_as_text() -> None:
    table = page._table(("<i>",), [("<b>&",)])
    assert "&lt;i&gt;" in table
    assert "&lt;b&gt;&amp;" in table


class _Away:
    """A store, or a registry, that does not answer."""

    def queues(self) -> None:
        raise StoreError("away")

    alive = queues


def test_verdicts_become_metrics() -> None:
    metrics = Metrics(_Away(), _Away())  # type: ignore[arg-type]
    subject = verdicts.Subject("1")
    built = Built(report=BuildReport(path="cache", cached=True))
    speedup = Speedup(value=3.0, low=2.5, high=3.5, baseline="eager")
    reward = RewardBook().resolve("dice")
    stages = {"judge": 0.5, "total": 2.0}
    metrics.verdict(
        verdicts.of_judgement(subject, reward, built, Judgement(speedup=speedup), stages=stages)
    )
    fallen = BuildReport(path="stock", fallback="device_pass: torch::nn: a detail")
    metrics.verdict(
        verdicts.of_finding(subject, reward, Finding(Reason.BUILD_FAILED, "", build=fallen))
    )
    metrics.verdict(verdicts.unscored(subject, Reason.WORKER_LOST, "lost"))
    metrics.verdict(verdicts.unscored(subject, Reason.CANCELLED, "cancelled"))
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
    }
    assert samples["reward_service_verdicts_total", "correct", ""] == 1
    assert samples["reward_service_verdicts_total", "unscored", "CANCELLED"] == 1
    assert samples["reward_service_infra_failures_total", "WORKER_LOST"] == 1
    assert ("reward_service_infra_failures_total", "CANCELLED") not in samples
    assert samples["reward_service_builds_total", "true", "", "cache"] == 1
    assert samples["reward_service_builds_total", "false", "device_pass", "stock"] == 1
    assert samples["reward_service_stage_seconds_sum", "judge"] == 0.5
    assert samples["reward_service_evaluation_seconds_sum",] == 2.0
    assert samples["reward_service_reward_cumulative",] == 1.0
    assert samples["reward_service_speedup_ratio_bucket", "3.0"] == 1
    assert samples["reward_service_store_up",] == 0.0
