"""Nothing is lost when a worker, a builder, Valkey or the API dies in the middle."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from service_harness import Api, Fleet, eventually, http, post, start, submission, verdict


@pytest.fixture
def lone(tmp_path: Path) -> Iterator[Fleet]:
    """A fleet to break."""
    with Fleet(tmp_path, lease_s=1.0, max_attempts=2) as fleet:
        yield fleet


@pytest.mark.parametrize("part", ["builder", "worker"])
def test_what_a_killed_process_held_is_done_by_another(lone: Fleet, part: str) -> None:
    stage = "build" if part == "builder" else "judge"
    processes = lone.start_both()
    with Api(lone.settings) as api, http(api) as client, ThreadPoolExecutor(1) as pool:
        body = submission("killed", **{stage: [["gate", "killed"]]})
        answer = pool.submit(post, client, body)
        lone.entered("killed")
        processes[part].kill()
        lone.open("killed")
        lone.start(part)
        got = answer.result().json()
    assert got["outcome"] == "correct"
    assert lone.runs(stage, got["id"]) == 2
    assert lone.runs("build" if stage == "judge" else "judge", got["id"]) == 1


def test_a_candidate_that_takes_its_workers_along_is_given_up(lone: Fleet) -> None:
    lone.start_both()
    with Api(lone.settings) as api, http(api) as client:
        id = start(client, submission("fatal", judge=[["die"]]))
        eventually(lambda: lone.runs("judge", id) == 1, "the first worker to die")
        lone.start("worker")
        got = verdict(client, id)
        assert (got["outcome"], got["reason"]) == ("unscored", "WORKER_LOST")
        assert (got["reward"], got["retryable"]) == (None, True)
        assert lone.runs("judge", id) == lone.settings.max_attempts
        lone.start("worker")
        assert post(client, submission("next")).json()["outcome"] == "correct"


def test_a_module_that_has_gone_is_built_again(lone: Fleet) -> None:
    lone.start_both()
    with Api(lone.settings) as api, http(api) as client:
        got = post(client, submission("gone", judge=[["lost", "once"]])).json()
    assert got["outcome"] == "correct"
    assert (lone.runs("build", got["id"]), lone.runs("judge", got["id"])) == (2, 2)


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
def test_a_restart_of_valkey_loses_nothing(lone: Fleet, kill: bool) -> None:
    lone.start_both()
    with Api(lone.settings) as api, http(api) as client, ThreadPoolExecutor(2) as pool:
        held = pool.submit(post, client, submission("held", judge=[["gate", "held"]]))
        lone.entered("held")
        waiting = pool.submit(post, client, submission("waiting"))
        eventually(lambda: _depth(client, "run:cpu") == 1, "the second one to wait")
        lone.valkey.stop(kill)
        refused = post(client, submission("refused"))
        assert refused.status_code == 503
        assert refused.headers["Content-Type"] == "application/problem+json"
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200
        assert "reward_service_store_up 0.0" in client.get("/metrics").text
        lone.open("held")  # the worker has its result while there is nowhere to put it
        lone.valkey.start()
        first, second = held.result().json(), waiting.result().json()
        assert (first["outcome"], second["outcome"]) == ("correct", "correct")
        assert lone.runs("judge", first["id"]) == 1, "a short outage costs no work"
        eventually(lambda: client.get("/readyz").status_code == 200, "the service to be ready")
        assert post(client, submission("after")).json()["outcome"] == "correct"


def test_a_client_that_waits_gets_over_a_restart_of_the_api(lone: Fleet) -> None:
    lone.start_both()
    with Api(lone.settings) as api, http(api) as client:
        id = start(client, submission("restart", judge=[["gate", "restart"]]))
        lone.entered("restart")
        port = api.port
        waiters = api.app.state.service.waiters
        with ThreadPoolExecutor(1) as pool:
            look = pool.submit(client.get, f"/evaluations/{id}", params={"wait": 60})
            eventually(lambda: waiters.count == 1, "the client to wait")
            api.stop()
            seen = look.result()
    assert (seen.status_code, seen.json()["state"]) == (200, "running"), "it is told to come back"
    lone.open("restart")
    with Api(lone.settings, port) as api, http(api) as client:
        assert verdict(client, id)["outcome"] == "correct"


def test_what_a_worker_took_but_never_claimed_comes_back(lone: Fleet) -> None:
    worker = lone.start_both()["worker"]
    with Api(lone.settings) as api, http(api) as client:
        worker.send_signal(signal.SIGTERM)
        worker.wait()
        # Admitted while the worker still counted as alive, and taken by one that dies at once.
        devices = api.app.state.service.registry
        devices.announce(_ghost(lone))
        id = start(client, submission("unclaimed"))
        eventually(lambda: _depth(client, "run:cpu") == 1, "it to wait for a worker")
        store = lone.valkey.client()
        assert store.lmove("rq:queue:run:cpu", "rq:queue:run:cpu:intermediate") is not None
        lone.start("worker")
        assert verdict(client, id)["outcome"] == "correct"


def test_sigterm_finishes_the_job_in_hand_and_takes_no_other(lone: Fleet) -> None:
    worker = lone.start_both()["worker"]
    with Api(lone.settings) as api, http(api) as client:
        held = start(client, submission("drain", judge=[["gate", "drain"]]))
        lone.entered("drain")
        other = start(client, submission("not this one"))
        eventually(lambda: _depth(client, "run:cpu") == 1, "the other one to wait")
        worker.send_signal(signal.SIGTERM)
        eventually(lambda: client.get("/devices").json() == [], "the worker to sign off")
        lone.open("drain")
        assert worker.wait(timeout=20) == 0
        assert verdict(client, held)["outcome"] == "correct"
        assert lone.runs("judge", other) == 0
        lone.start("worker")
        assert verdict(client, other)["outcome"] == "correct"


def test_an_idle_process_ends_at_once_on_sigterm(lone: Fleet) -> None:
    builder = lone.start("builder")
    builder.send_signal(signal.SIGTERM)
    assert builder.wait(timeout=5) == 0


def _depth(client: httpx.Client, queue: str) -> float:
    start_of_line = f'reward_service_queue_depth{{queue="{queue}"}}'
    lines = client.get("/metrics").text.splitlines()
    return next((float(x.split()[-1]) for x in lines if x.startswith(start_of_line)), 0.0)


def _ghost(fleet: Fleet) -> object:
    from service_fakes import Stages

    from reward_service.jobs.registry import Process

    device = Stages(fleet.directory, "cpu").info()
    return Process(name="ghost", kind="worker", host="nowhere", pid=1, device=device)
