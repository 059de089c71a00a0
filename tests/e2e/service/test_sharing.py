"""Identical submissions, many waiters, deadlines, cancelling: who gets what, and when."""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
from service_harness import Api, Fleet, eventually, http, post, start, submission, verdict


def test_identical_submissions_in_flight_are_one_evaluation(
    client: httpx.Client, fleet: Fleet
) -> None:
    body = submission("group", judge=[["gate", "group"]])
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(post, client, body) for _ in range(8)]
        fleet.entered("group")
        eventually(lambda: _holders(fleet) == [{"local": 8}], "all eight to have joined")
        fleet.open("group")
        answers = [future.result().json() for future in waiting]
    assert {answer["id"] for answer in answers} == {answers[0]["id"]}
    assert answers[0]["outcome"] == "correct"
    id = answers[0]["id"]
    assert (fleet.runs("build", id), fleet.runs("judge", id)) == (1, 1)


def test_fifty_waiters_are_woken_over_few_connections(
    client: httpx.Client, fleet: Fleet, api: Api
) -> None:
    async def wait_for(clients: httpx.AsyncClient, number: int) -> str:
        body = submission(f"crowd {number}", build=[["gate", "crowd"]])
        answer = await clients.post("/evaluate", json=body)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["outcome"])

    async def crowd() -> list[str]:
        limits = httpx.Limits(max_connections=60)
        async with httpx.AsyncClient(base_url=api.url, timeout=60, limits=limits) as clients:
            waiting = [asyncio.create_task(wait_for(clients, n)) for n in range(50)]
            waiters = api.app.state.service.waiters
            while waiters.count < 50:
                await asyncio.sleep(0.01)
            connections = len(fleet.valkey.client().client_list())
            assert connections < 40, "those of the API's threads, none for a waiter"
            fleet.open("crowd")
            return await asyncio.gather(*waiting)

    assert asyncio.run(asyncio.wait_for(crowd(), 60)) == ["correct"] * 50


def test_the_deadline_ends_a_stage_that_listens(client: httpx.Client, fleet: Fleet) -> None:
    started = time.monotonic()
    got = post(client, submission("late", judge=[["gate", "never"]], deadline_s=1.0)).json()
    assert (got["outcome"], got["reason"]) == ("unscored", "QUEUE_DEADLINE")
    assert (got["reward"], got["retryable"]) == (None, True)
    assert 1.0 <= time.monotonic() - started < 2.0
    assert post(client, submission("after late")).json()["outcome"] == "correct"


def test_the_deadline_answers_while_a_stage_does_not_listen(
    client: httpx.Client, fleet: Fleet
) -> None:
    got = post(client, submission("deaf", judge=[["wall", "deaf"]], deadline_s=0.7)).json()
    assert got["reason"] == "QUEUE_DEADLINE"
    fleet.open("deaf")
    assert post(client, submission("after deaf")).json()["outcome"] == "correct"
    assert verdict(client, got["id"]) == got, "the first verdict stays"


def test_the_deadline_ends_what_still_waits(client: httpx.Client, fleet: Fleet) -> None:
    first = start(client, submission("blocks", build=[["gate", "blocks"]]))
    fleet.entered("blocks")
    got = post(client, submission("blocked", deadline_s=0.5)).json()
    assert got["reason"] == "QUEUE_DEADLINE"
    fleet.open("blocks")
    verdict(client, first)
    assert fleet.runs("build", got["id"]) == 0


def test_an_unwatched_deadline_is_kept_by_the_sweeper(client: httpx.Client, fleet: Fleet) -> None:
    id = start(client, submission("unwatched", judge=[["gate", "unseen"]], deadline_s=0.5))
    assert verdict(client, id)["reason"] == "QUEUE_DEADLINE"


def test_a_patient_client_keeps_a_joined_evaluation_alive(
    client: httpx.Client, fleet: Fleet
) -> None:
    body = submission("patience", judge=[["gate", "patience"]])
    with ThreadPoolExecutor(1) as pool:
        hasty = pool.submit(post, client, {**body, "deadline_s": 1.0})
        fleet.entered("patience")
        patient = start(client, {**body, "deadline_s": 60.0})
        got = hasty.result().json()
    assert (got["id"], got["reason"]) == (patient, "QUEUE_DEADLINE")
    fleet.open("patience")
    assert verdict(client, patient)["outcome"] == "correct"


def test_cancelling_ends_it_at_once_and_frees_the_worker(
    client: httpx.Client, fleet: Fleet
) -> None:
    id = start(client, submission("cancel", judge=[["gate", "cancel"]]))
    fleet.entered("cancel")
    answer = client.delete(f"/evaluations/{id}")
    assert answer.status_code == 200
    got = answer.json()["verdict"]
    assert (got["outcome"], got["reason"], got["retryable"]) == ("unscored", "CANCELLED", False)
    assert post(client, submission("after cancel")).json()["outcome"] == "correct"
    assert client.delete(f"/evaluations/{id}").json()["verdict"] == got, "it changes no more"


def test_cancelling_what_waits_keeps_it_from_starting(client: httpx.Client, fleet: Fleet) -> None:
    first = start(client, submission("front", build=[["gate", "front"]]))
    fleet.entered("front")
    id = start(client, submission("behind"))
    assert client.delete(f"/evaluations/{id}").json()["verdict"]["reason"] == "CANCELLED"
    fleet.open("front")
    verdict(client, first)
    assert post(client, submission("after front")).json()["outcome"] == "correct"
    assert fleet.runs("build", id) == 0


def test_cancelling_one_of_two_leaves_the_other_its_answer(
    client: httpx.Client, fleet: Fleet
) -> None:
    body = submission("two", judge=[["gate", "two"]])
    id = start(client, body)
    assert start(client, body) == id
    assert client.delete(f"/evaluations/{id}").json()["verdict"] is None
    fleet.open("two")
    assert verdict(client, id)["outcome"] == "correct"


def test_an_urgent_submission_goes_first(client: httpx.Client, fleet: Fleet) -> None:
    first = start(client, submission("head", build=[["gate", "head"]]))
    fleet.entered("head")
    waiting = start(client, submission("train"))
    urgent = start(client, submission("eval", priority="eval"))
    fleet.open("head")
    for id in (first, waiting, urgent):
        verdict(client, id)
    log = (fleet.directory / "log").read_text().splitlines()
    assert log.index(f"build {urgent}") < log.index(f"build {waiting}")


def test_a_full_queue_is_429_for_new_work_only(fleet: Fleet) -> None:
    settings = fleet.settings.model_copy(update={"max_queued": 2})
    with Api(settings) as api, http(api) as client:
        first = start(client, submission("full 0", build=[["gate", "full"]]))
        fleet.entered("full")
        ids = [start(client, submission(f"full {n}")) for n in (1, 2)]
        refused = post(client, submission("full 3"))
        assert refused.status_code == 429
        assert 1 <= int(refused.headers["Retry-After"]) <= 60
        assert start(client, submission("full 2")) == ids[1], "joining adds no work"
        fleet.open("full")
        for id in (first, *ids):
            verdict(client, id)
        assert post(client, submission("full 3")).status_code == 200


def _holders(fleet: Fleet) -> list[dict[str, int]]:
    client = fleet.valkey.client()
    live = [id.decode() for id in client.zrange("reward:deadlines", 0, -1)]
    records = [client.hget(f"reward:evaluation:{id}", "holders") or "{}" for id in live]
    return [json.loads(holders) for holders in records]
