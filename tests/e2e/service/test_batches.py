"""Many submissions at once: all taken or none, answered in order."""

from __future__ import annotations

import gzip
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from service_harness import Api, Fleet, eventually, http, submission, verdict

from reward_service.schemas import Batch, Outcome, ProblemDetails, Reason, State


def post(client: httpx.Client, bodies: list[Any], **headers: str) -> httpx.Response:
    return client.post("/evaluate/batch", json={"submissions": bodies}, headers=headers)


def start(client: httpx.Client, bodies: list[Any], **headers: str) -> str:
    answer = post(client, bodies, Prefer="respond-async", **headers)
    assert answer.status_code == 202, answer.text
    batch = Batch.model_validate_json(answer.content)
    assert answer.headers["Location"] == f"/batches/{batch.id}"
    return batch.id


def look(client: httpx.Client, id: str, wait: float = 0) -> Batch:
    answer = client.get(f"/batches/{id}", params={"wait": wait})
    assert answer.status_code == 200, answer.text
    return Batch.model_validate_json(answer.content)


def refused(answer: httpx.Response, status: int) -> ProblemDetails:
    assert answer.status_code == status, answer.text
    return ProblemDetails.model_validate_json(answer.content)


def waiting(fleet: Fleet) -> int:
    return fleet.valkey.client().zcard("reward:deadlines")


def test_verdicts_come_in_the_order_of_the_submissions(client):
    reasons = [None, "MISMATCH", "EXCEPTION", None, "CLOCK_DISAGREE"] * 6
    bodies = [
        submission(f"in order {i}", judge=[["fail", reason]] if reason else [])
        for i, reason in enumerate(reasons)
    ]
    answer = post(client, bodies)
    assert answer.status_code == 200
    batch = Batch.model_validate_json(answer.content)
    assert batch.total == batch.done == len(bodies)
    assert batch.states == {State.DONE: len(bodies)}
    assert [v.reason for v in batch.verdicts] == reasons
    assert look(client, batch.id) == batch


def test_equal_submissions_of_a_batch_are_one_evaluation(client, fleet):
    batch = Batch.model_validate_json(post(client, [submission("twice")] * 3).content)
    (id,) = {v.id for v in batch.verdicts}
    assert fleet.runs("judge", id) == 1


def test_a_batch_is_seen_while_it_is_worked_on(client, fleet):
    id = start(client, [submission("quick"), submission("slow", judge=[["gate", "slow"]])])
    fleet.entered("slow")
    seen = look(client, id)
    assert (seen.done, seen.total) == (1, 2)
    assert seen.states == {State.DONE: 1, State.RUNNING: 1}
    assert seen.verdicts[0].outcome is Outcome.CORRECT
    assert seen.verdicts[1] is None
    with ThreadPoolExecutor() as pool:
        later = pool.submit(look, client, id, 30)
        fleet.open("slow")
        assert later.result().done == 2


def test_every_wrong_submission_is_named_and_nothing_is_stored(client, fleet):
    wrong = {**submission("unknown"), "problem": {"name": "level1/none_such"}}
    before = waiting(fleet)
    details = refused(post(client, [submission("fine"), wrong, submission("ok"), wrong]), 422)
    fields = [error["field"] for error in details.errors]
    assert fields == ["submissions.1.problem.name", "submissions.3.problem.name"]
    malformed = [{"candidate": {}}] * 40
    details = refused(post(client, [submission("fine"), *malformed]), 422)
    named = {error["field"].split(".")[1] for error in details.errors}
    assert named == {str(i) for i in range(1, 41)}
    assert waiting(fleet) == before


@pytest.mark.parametrize("count", [0, 1_025])
def test_a_batch_has_a_size(client, count):
    details = refused(post(client, [submission("size")] * count), 422)
    assert details.errors[0]["field"] == "submissions"


def test_what_does_not_fit_is_refused_whole(tmp_path):
    with Fleet(tmp_path, max_queued=5) as fleet:
        fleet.start_both()
        with Api(fleet.settings) as api, http(api) as client:
            gate = [["gate", "hold"]]
            held = start(client, [submission("held", judge=gate)])
            fleet.entered("hold")
            answer = post(client, [submission(f"much {i}") for i in range(6)])
            refused(answer, 429)
            assert int(answer.headers["Retry-After"]) >= 1
            assert waiting(fleet) == 1
            id = start(client, [submission(f"fits {i}") for i in range(5)])
            fleet.open("hold")
            assert look(client, id, 30).done == 5
            assert look(client, held, 30).done == 1
            # What was answered before needs no room.
            again = post(client, [submission(f"fits {i}") for i in range(5)] * 2)
            assert again.status_code == 200


def test_each_submission_has_its_own_patience(client, fleet):
    gate = [["gate", "patience"]]
    patient = submission("patience", judge=gate, deadline_s=60)
    id = start(client, [patient, {**patient, "deadline_s": 0.2}])
    seen = eventually(lambda: (b := look(client, id, 5)).done and b, "the end of one's patience")
    assert seen.verdicts[0] is None
    assert seen.verdicts[1].reason is Reason.QUEUE_DEADLINE
    fleet.open("patience")
    assert look(client, id, 30).verdicts[0].outcome is Outcome.CORRECT


def test_giving_up_twice_takes_nothing_from_others(client, fleet):
    gate = [["gate", "shared"]]
    first = start(client, [submission("shared", judge=gate), submission("alone", judge=gate)])
    second = start(client, [submission("shared", judge=gate)])
    assert client.delete(f"/batches/{first}").status_code == 200
    for _ in range(3):
        assert client.delete(f"/batches/{first}").status_code == 404
    assert client.get(f"/batches/{first}").status_code == 404
    fleet.open("shared")
    assert look(client, second, 30).verdicts[0].outcome is Outcome.CORRECT
    alone = post(client, [submission("alone", judge=gate)])
    assert alone.status_code == 200


def test_the_same_key_finds_the_same_batch(client, fleet):
    bodies = [submission("keyed", judge=[["fail", "MISMATCH"]]), submission("keyed too")]
    headers = {"Idempotency-Key": "batch-key-1"}
    id = start(client, bodies, **headers)
    # A client that tries again has less patience left.
    again = post(client, [{**body, "deadline_s": 100} for body in bodies], **headers)
    assert Batch.model_validate_json(again.content).id == id
    details = refused(post(client, bodies[:1], **headers), 422)
    assert details.errors[0]["field"] == "Idempotency-Key"
    other = post(client, bodies, **{"Idempotency-Key": "batch-key-2"})
    assert Batch.model_validate_json(other.content).id != id


@pytest.mark.parametrize("key", ["", "x" * 256, "a b", "\x80"])
def test_a_malformed_key_is_refused(client, key):
    headers = {b"Idempotency-Key": key.encode("latin-1")}
    answer = client.post("/evaluate", json=submission("malformed key"), headers=headers)
    assert refused(answer, 422).errors[0]["field"] == "Idempotency-Key"


def test_requests_with_one_key_at_once_make_one_evaluation(client, fleet):
    body = submission("at once", judge=[["infra"]])
    barrier = threading.Barrier(8)

    def send(_: int) -> str:
        barrier.wait()
        answer = client.post("/evaluate", json=body, headers={"Idempotency-Key": "at-once"})
        return str(answer.json()["id"])

    with ThreadPoolExecutor(8) as pool:
        (id,) = set(pool.map(send, range(8)))
    # It was unscored: without the key the work would begin anew.
    assert send_again(client, body, "at-once") == id
    assert send_again(client, body, "another") != id


def send_again(client: httpx.Client, body: dict[str, Any], key: str) -> str:
    answer = client.post("/evaluate", json=body, headers={"Idempotency-Key": key})
    return str(answer.json()["id"])


def test_bodies_and_answers_may_be_gzip(client):
    body = gzip.compress(json.dumps({"submissions": [submission("packed")] * 9}).encode())
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    answer = client.post("/evaluate/batch", content=body, headers=headers)
    assert answer.status_code == 200
    assert answer.headers["Content-Encoding"] == "gzip"
    assert Batch.model_validate_json(answer.content).done == 9


@pytest.mark.parametrize(
    ("encoding", "body", "status"),
    [
        ("br", b"{}", 415),
        ("gzip", b"{}", 400),
        ("gzip", gzip.compress(b"{}")[:-3], 400),
        ("gzip", gzip.compress(b" " * (80 << 20)), 413),
    ],
)
def test_what_cannot_be_unpacked_is_refused(client, encoding, body, status):
    headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}
    refused(client.post("/evaluate/batch", content=body, headers=headers), status)


def test_a_single_submission_is_answered_while_a_batch_waits(client, fleet):
    id = start(client, [submission(f"wait {i}", build=[["gate", "many"]]) for i in range(3)])
    fleet.open("many")
    single = client.post("/evaluate", json=submission("single")).json()
    assert verdict(client, single["id"])["outcome"] == "correct"
    assert look(client, id, 30).done == 3
