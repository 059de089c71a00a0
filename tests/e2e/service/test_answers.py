"""What a client gets for a submission, from all the real parts but the two stages."""

from __future__ import annotations

import httpx
import pytest
from service_harness import PROBLEM, Fleet, eventually, post, start, submission, verdict

from reward_service.schemas import OUTCOME_OF, Outcome, Reason, Verdict
from reward_service.verdicts import harness_hash


def test_a_correct_candidate_gets_its_whole_verdict(client: httpx.Client, fleet: Fleet) -> None:
    answer = post(client, submission("correct"))
    assert answer.status_code == 200
    got = Verdict.model_validate_json(answer.content)
    assert got.outcome is Outcome.CORRECT
    assert (got.correct, got.compiled, got.retryable) == (True, True, False)
    assert got.reward is not None
    assert got.reward > 0
    assert str(got.reward_config) == "log_speedup@1"
    assert got.speedup is not None
    assert got.speedup.value == 2.0
    assert set(got.stages) == {"queue", "build", "judge", "timing", "total"}
    assert got.stages["total"] >= got.stages["build"] + got.stages["judge"]
    assert got.build is not None
    assert got.build.path == "split"
    seen = got.provenance
    assert (seen.device_class, seen.compiler, seen.seed) == ("cpu", "fake 1.0", "00")
    assert seen.harness_hash == harness_hash()
    assert len(seen.problem_hash or "") == len(seen.candidate_hash or "") == 64
    assert got.checks[0].evidence == {"worst": None}, "JSON has no NaN"
    assert (fleet.runs("build", got.id), fleet.runs("judge", got.id)) == (1, 1)


def test_a_failed_build_ends_before_the_device(client: httpx.Client, fleet: Fleet) -> None:
    got = post(client, submission("no build", build=[["fail", "BUILD_FAILED"]])).json()
    assert (got["outcome"], got["reason"]) == ("compile_error", "BUILD_FAILED")
    assert (got["compiled"], got["correct"]) == (False, None)
    assert isinstance(got["reward"], float)
    assert got["message"] == "it failed\\udcff", "what JSON cannot carry is escaped"
    assert got["checks"] == [{"name": "build_failed", "passed": False, "evidence": {"at": 3}}]
    assert fleet.runs("judge", got["id"]) == 0


@pytest.mark.parametrize("reason", sorted(r for r in Reason if r is not Reason.CANCELLED))
def test_whatever_the_judge_finds_is_the_answer(client: httpx.Client, reason: Reason) -> None:
    got = post(client, submission(f"judge {reason}", judge=[["fail", reason]])).json()
    outcome = OUTCOME_OF[reason]
    assert (got["outcome"], got["reason"]) == (outcome, reason)
    if outcome is Outcome.UNSCORED:
        assert got["reward"] is None
        assert got["retryable"] is (reason is not Reason.BAD_PROBLEM)
    else:
        assert isinstance(got["reward"], float)


def test_stopping_after_the_build_gives_no_reward(client: httpx.Client, fleet: Fleet) -> None:
    got = post(client, submission("stop", policy={"stop_after": "build"})).json()
    assert (got["outcome"], got["reward"], got["compiled"]) == ("built", None, True)
    assert fleet.runs("judge", got["id"]) == 0


@pytest.mark.parametrize("stage", ["build", "judge"])
def test_an_error_of_ours_is_unscored_with_its_reason(client: httpx.Client, stage: str) -> None:
    got = post(client, submission(f"infra {stage}", **{stage: [["infra"]]})).json()
    assert (got["outcome"], got["reason"]) == ("unscored", "DEVICE_UNHEALTHY")
    assert (got["reward"], got["retryable"]) == (None, True)
    assert got["message"] == "the device is unwell"


@pytest.mark.parametrize("stage", ["build", "judge"])
def test_a_bug_of_ours_is_unscored_and_not_shown(
    client: httpx.Client, fleet: Fleet, stage: str
) -> None:
    got = post(client, submission(f"bug {stage}", **{stage: [["bug"]]})).json()
    assert (got["outcome"], got["reason"], got["reward"]) == ("unscored", "INTERNAL", None)
    assert "secret" not in str(got)
    assert fleet.runs(stage, got["id"]) == 1, "only lost workers are retried"


def test_a_scored_verdict_is_served_again(client: httpx.Client, fleet: Fleet) -> None:
    first = post(client, submission("again", tags={"run": "1"})).json()
    second = post(client, submission("again", tags={"run": "2"}, deadline_s=7), "respond-async")
    assert second.status_code == 200, "what is ready needs no waiting"
    assert second.json() == first
    assert fleet.runs("build", first["id"]) == 1


def test_an_unscored_verdict_is_not_served_again(client: httpx.Client, fleet: Fleet) -> None:
    body = submission("unscored", judge=[["infra"]])
    first, second = (post(client, body).json() for _ in range(2))
    assert first["id"] != second["id"]
    assert fleet.runs("judge", second["id"]) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"policy": {"reward": "dice"}},
        {"policy": {"precision": "bf16"}},
        {"problem": {"source": PROBLEM + "# another"}},
    ],
)
def test_what_decides_the_verdict_makes_another_evaluation(
    client: httpx.Client, other: dict[str, object]
) -> None:
    first = post(client, submission("key")).json()
    second = post(client, {**submission("key"), **other}).json()
    assert first["id"] != second["id"]


def test_prefer_wait_bounds_the_wait(client: httpx.Client, fleet: Fleet) -> None:
    body = submission("slow", judge=[["gate", "slow"]], tags={"step": "3"})
    answer = post(client, body, "wait=1")
    assert answer.status_code == 202
    assert answer.headers["Preference-Applied"] == "wait=1"
    seen = answer.json()
    assert answer.headers["Location"] == f"/evaluations/{seen['id']}"
    assert (seen["state"], seen["verdict"], seen["tags"]) == ("running", None, {"step": "3"})
    fleet.open("slow")
    assert verdict(client, seen["id"])["outcome"] == "correct"
    done = client.get(answer.headers["Location"]).json()
    assert (done["state"], done["tags"]) == ("done", {"step": "3"})


def test_respond_async_does_not_wait(client: httpx.Client) -> None:
    answer = post(client, submission("async"), "respond-async")
    assert answer.status_code == 202
    assert answer.headers["Preference-Applied"] == "respond-async"
    assert verdict(client, answer.json()["id"])["outcome"] == "correct"


def test_looking_with_a_wait_returns_when_it_is_over(client: httpx.Client, fleet: Fleet) -> None:
    id = start(client, submission("look", build=[["gate", "look"]]))
    fleet.entered("look")
    seen = client.get(f"/evaluations/{id}", params={"wait": 0.2})
    assert (seen.status_code, seen.json()["state"]) == (200, "building")
    fleet.open("look")
    verdict(client, id)


def test_a_client_that_goes_away_cancels_nothing(client: httpx.Client, fleet: Fleet) -> None:
    body = submission("gone", judge=[["gate", "gone"]])
    with pytest.raises(httpx.ReadTimeout):
        client.post("/evaluate", json=body, timeout=0.5)
    none = "reward_service_waiting_requests 0.0"
    eventually(lambda: none in client.get("/metrics").text, "nobody to wait")
    fleet.open("gone")
    got = post(client, body).json()
    assert got["outcome"] == "correct"
    assert fleet.runs("judge", got["id"]) == 1


def test_a_verdict_is_counted_once(client: httpx.Client) -> None:
    def counted() -> float:
        name = 'reward_service_verdicts_total{outcome="rejected",reason="TAMPERING"}'
        lines = client.get("/metrics").text.splitlines()
        return next((float(line.split()[-1]) for line in lines if line.startswith(name)), 0.0)

    body = submission("counted", judge=[["fail", "TAMPERING"]])
    before = counted()
    for _ in range(3):  # the first is judged, the others are served from the store
        post(client, body)
    assert counted() == before + 1
