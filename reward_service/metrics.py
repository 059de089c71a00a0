"""What Prometheus sees of one API process.

Verdicts are observed as they come over the events stream, from the stage times that they
carry, so each counts once in each API process, whoever asked for it and wherever it ran; add
nothing up over several API processes but what they answered (`requests`, `submissions`).
Queues, workers and devices are read from Valkey at each scrape. No label takes a value that
a client chooses; the names of clients are those of tokens, which the operator chose.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from reward_service import __version__
from reward_service.errors import StoreError
from reward_service.jobs.registry import Process, Registry
from reward_service.jobs.store import Store
from reward_service.schemas import NEVER_RETRYABLE, Outcome, Verdict
from reward_service.verdicts import harness_hash

PREFIX = "reward_service"
STAGE_BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600)
TOTAL_BUCKETS = (0.01, 0.1, 0.5, 1, 2, 3, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600)
SPEEDUP_BUCKETS = (0.1, 0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 5, 10)
REWARD_BUCKETS = (-1, -0.5, -0.25, -0.1, 0, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5)


class Metrics:
    """The metrics of one API process, in a registry of its own."""

    def __init__(self, store: Store, registry: Registry) -> None:
        own = CollectorRegistry()
        self._own = own

        def counter(name: str, text: str, labels: Sequence[str]) -> Counter:
            return Counter(name, text, labels, namespace=PREFIX, registry=own)

        def histogram(
            name: str, text: str, buckets: Sequence[float], labels: Sequence[str] = ()
        ) -> Histogram:
            return Histogram(name, text, labels, PREFIX, buckets=buckets, registry=own)

        self._verdicts = counter("verdicts", "Evaluations that ended", ["outcome", "reason"])
        self._failures = counter("infra_failures", "Verdicts lost to the service", ["reason"])
        self._builds = counter(
            "builds", "Builds of ended evaluations", ["path", "cached", "fallback"]
        )
        self._submissions = counter("submissions", "Accepted: new, joined or served", ["how"])
        self._requests = counter("requests", "HTTP answers", ["method", "route", "code"])
        self._clients = counter("client_ended", "Evaluations that ended", ["client"])
        self._refusals = counter("quota_refusals", "Refused by a client's quota", ["client"])
        self._stages = histogram("stage_seconds", "Time in a stage", STAGE_BUCKETS, ["stage"])
        self._total = histogram("evaluation_seconds", "Acceptance to verdict", TOTAL_BUCKETS)
        self._reward = histogram("reward", "Rewards of scored verdicts", REWARD_BUCKETS)
        # With buckets below zero the client library gives no sum, since it can fall.
        self._cumulative = Gauge(
            "reward_cumulative", "Sum of all rewards; it can fall", namespace=PREFIX, registry=own
        )
        self._speedup = histogram("speedup_ratio", "Speedups of correct ones", SPEEDUP_BUCKETS)
        build = Gauge("build_info", "Always 1", ["version", "harness"], PREFIX, registry=own)
        build.labels(__version__, harness_hash()[:12]).set(1)
        own.register(_Fleet(store, registry))

    def verdict(self, verdict: Verdict) -> None:
        """An evaluation ended."""
        self._verdicts.labels(verdict.outcome, verdict.reason or "").inc()
        if verdict.outcome is Outcome.UNSCORED and verdict.reason not in NEVER_RETRYABLE:
            self._failures.labels(verdict.reason).inc()
        if verdict.build is not None:
            build = verdict.build
            code = (build.fallback or "").partition(":")[0]
            self._builds.labels(build.path, str(build.cached).lower(), code).inc()
        for stage, seconds in verdict.stages.items():
            if stage == "total":
                self._total.observe(seconds)
            else:
                self._stages.labels(stage).observe(seconds)
        if verdict.reward is not None:
            self._reward.observe(verdict.reward)
            self._cumulative.inc(verdict.reward)
        if verdict.speedup is not None:
            self._speedup.observe(verdict.speedup.value)

    def clients(self, count: Callable[[], float]) -> None:
        """Where to read how many requests wait for a verdict."""
        text = "Requests that wait for a verdict"
        gauge = Gauge("waiting_requests", text, namespace=PREFIX, registry=self._own)
        gauge.set_function(count)

    def submission(self, how: str) -> None:
        """A submission was accepted."""
        self._submissions.labels(how).inc()

    def client_ended(self, client: str) -> None:
        """An evaluation that the client started has ended."""
        self._clients.labels(client).inc()

    def quota_refusal(self, client: str) -> None:
        """A submission was refused by its client's own quota."""
        self._refusals.labels(client).inc()

    def request(self, method: str, route: str, code: int) -> None:
        """A request was answered."""
        self._requests.labels(method, route, str(code)).inc()

    def text(self) -> bytes:
        """Everything in Prometheus' text format; reads Valkey."""
        return generate_latest(self._own)


class _Fleet(Collector):
    """Queues, processes and devices as they are when asked."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._registry = registry

    def describe(self) -> list[Metric]:
        """Nothing, so that registering does not read Valkey."""
        return []

    def collect(self) -> Iterator[Metric]:
        try:
            queues = self._store.queues()
            unfinished = self._store.unfinished()
            alive = self._registry.alive()
        except StoreError:
            yield _gauge("store_up", "Whether Valkey answers", [], {(): 0.0})
            return
        yield _gauge("store_up", "Whether Valkey answers", [], {(): 1.0})
        depth = {(name,): float(count) for name, (count, _) in queues.items()}
        age = {(name,): oldest for name, (_, oldest) in queues.items()}
        yield _gauge("queue_depth", "Evaluations waiting", ["queue"], depth)
        yield _gauge("queue_oldest_seconds", "Age of the oldest", ["queue"], age)
        clients = {(name,): float(count) for name, count in unfinished.items()}
        yield _gauge("client_unfinished", "Evaluations that wait or run", ["client"], clients)
        yield from _processes(alive)


def _processes(alive: Sequence[Process]) -> Iterator[Metric]:
    kinds = {("builder",): 0.0, ("worker",): 0.0}
    kinds |= {(kind,): float(n) for kind, n in Tally(p.kind for p in alive).items()}
    yield _gauge("processes", "Live builders and workers", ["kind"], kinds)
    devices = Tally((p.device.device_class, p.device.state) for p in alive if p.device)
    counted = {labels: float(n) for labels, n in devices.items()}
    yield _gauge("devices", "Devices of live workers", ["device_class", "state"], counted)


def _gauge(name: str, text: str, labels: Sequence[str], values: Mapping[Any, float]) -> Metric:
    """One family; `values` by tuples of label values."""
    family = GaugeMetricFamily(f"{PREFIX}_{name}", text, labels=labels)
    for label_values, value in values.items():
        family.add_metric(label_values, value)
    return family
