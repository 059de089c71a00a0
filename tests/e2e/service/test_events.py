"""Server-sent events: what happens is told, once, to whoever still reads."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from service_harness import Api, Fleet, eventually, http, start, submission, verdict

from reward_service.api import events


@dataclass
class Event:
    name: str
    id: str
    data: dict[str, Any]


def read(response: httpx.Response) -> Iterator[Event]:
    """The events as they come; comments are passed over."""
    fields: dict[str, str] = {}
    for line in response.iter_lines():
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
        elif not line and fields:
            yield Event(fields["event"], fields.get("id", ""), json.loads(fields["data"]))
            fields = {}


def stream(client: httpx.Client, path: str, **headers: str) -> Any:
    return client.stream("GET", path, headers=headers)


def test_each_state_is_told_as_it_comes(client, fleet):
    body = submission("told", build=[["gate", "build"]], judge=[["gate", "judge"]])
    id = start(client, body)
    with stream(client, f"/evaluations/{id}/events") as response:
        assert response.headers["Content-Type"].startswith("text/event-stream")
        told = read(response)
        seen = [next(told).name]
        while seen[-1] != "building":
            seen.append(next(told).name)
        fleet.open("build")
        while seen[-1] != "running":
            seen.append(next(told).name)
        fleet.open("judge")
        last = list(told)
    seen += [event.name for event in last]
    order = ["queued", "building", "built", "running", "done"]
    assert seen == [state for state in order if state in seen]
    assert last[-1].data["verdict"]["outcome"] == "correct"


def test_who_comes_back_is_not_told_again_what_it_knows(client, fleet):
    id = start(client, submission("again", judge=[["gate", "again"]]))
    fleet.entered("again")
    with stream(client, f"/evaluations/{id}/events") as response:
        first = next(read(response))
    assert first.name == "running"
    with stream(client, f"/evaluations/{id}/events", **{"Last-Event-ID": first.id}) as response:
        fleet.open("again")
        assert [event.name for event in read(response)] == ["done"]
    with stream(client, f"/evaluations/{id}/events") as response:
        assert [event.name for event in read(response)] == ["done"]


def test_a_batch_tells_each_verdict_once(client, fleet):
    bodies = [submission(f"member {i}", judge=[["gate", f"member{i}"]]) for i in range(3)]
    answer = client.post(
        "/evaluate/batch", json={"submissions": bodies}, headers={"Prefer": "respond-async"}
    )
    id = answer.json()["id"]
    fleet.open("member0")
    seen: list[Event] = []
    with stream(client, f"/batches/{id}/events") as response:
        for event in read(response):
            seen.append(event)
            if event.name == "progress" and event.data["done"] == 1:
                break
    assert [e.data["index"] for e in seen if e.name == "verdict"] == [0]
    fleet.open("member1")
    fleet.open("member2")
    with stream(client, f"/batches/{id}/events", **{"Last-Event-ID": seen[-1].id}) as response:
        rest = list(read(response))
    assert [e.data["index"] for e in rest if e.name == "verdict"] == [1, 2]
    assert rest[-1].name == "done"
    assert rest[-1].data["done"] == 3


@pytest.mark.parametrize("mask", ["", "zz", "-1", "f" * 300, "7"])
def test_a_foreign_last_event_id_is_harmless(client, mask):
    answer = client.post("/evaluate/batch", json={"submissions": [submission("mask")]})
    path = f"/batches/{answer.json()['id']}/events"
    with stream(client, path, **{"Last-Event-ID": mask}) as response:
        told = [event.name for event in read(response)]
    assert told[-1] == "done"
    assert ("verdict" in told) == (mask != "7")


@pytest.mark.parametrize("path", ["/evaluations/{}/events", "/batches/{}/events"])
def test_what_is_not_there_has_no_events(client, path):
    assert client.get(path.format("0" * 32)).status_code == 404
    assert client.get(path.format("no id")).status_code == 404


def test_readers_that_never_read_cost_the_others_nothing(fleet, monkeypatch):
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.01)
    gate = [["gate", "deaf"]]
    with Api(fleet.settings) as api, http(api) as client, ExitStack() as open_sockets:
        id = start(client, submission("deaf", judge=gate))
        for _ in range(200):
            reader = socket.create_connection(("127.0.0.1", api.port))
            open_sockets.enter_context(reader)
            request = f"GET /evaluations/{id}/events HTTP/1.1\r\nHost: here\r\n\r\n"
            reader.sendall(request.encode())
        waiters = api.app.state.service.waiters
        eventually(lambda: waiters.count >= 200, "the readers")
        answer = client.post("/evaluate", json=submission("heard", policy={"stop_after": "build"}))
        assert answer.json()["outcome"] == "built"
        fleet.open("deaf")
        assert verdict(client, id)["outcome"] == "correct"
        eventually(lambda: waiters.count == 0, "the end of all streams")


def test_who_does_not_take_what_is_sent_is_dropped(fleet, monkeypatch):
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.0001)
    monkeypatch.setattr(events, "HEARTBEAT", b": " + b"x" * 100_000 + b"\n\n")
    monkeypatch.setattr(events, "STALL_S", 0.2)
    with Api(fleet.settings) as api, http(api) as client:
        id = start(client, submission("stalled", judge=[["gate", "stalled"]]))
        waiters = api.app.state.service.waiters
        with socket.create_connection(("127.0.0.1", api.port)) as reader:
            request = f"GET /evaluations/{id}/events HTTP/1.1\r\nHost: here\r\n\r\n"
            reader.sendall(request.encode())
            eventually(lambda: waiters.count == 1, "the reader")
            eventually(lambda: waiters.count == 0, "its end")
        fleet.open("stalled")


def test_streams_end_when_the_process_is_told_to_end(tmp_path):
    with Fleet(tmp_path) as fleet:
        fleet.start_both()
        with Api(fleet.settings) as api, http(api) as client:
            id = start(client, submission("ending", judge=[["gate", "ending"]]))
            fleet.entered("ending")
            with stream(client, f"/evaluations/{id}/events") as response:
                told = read(response)
                assert next(told).name == "running"
                api.stop()
                assert list(told) == []
        fleet.open("ending")
