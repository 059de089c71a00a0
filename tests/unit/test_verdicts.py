"""No illegal verdict can be made, and each reason has a legal one."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from reward_service import verdicts
from reward_service.findings import Built, Finding, Judgement
from reward_service.rewards.book import RewardBook
from reward_service.schemas import (
    MAX_MESSAGE_CHARS,
    OUTCOME_OF,
    BuildReport,
    Check,
    Outcome,
    Provenance,
    Reason,
    RewardConfigRef,
    Speedup,
    Timing,
    Verdict,
)

SUBJECT = verdicts.Subject("1" * 32, "a" * 64, "b" * 64)
BUILT = Built(report=BuildReport(path="split", seconds=1.0), compiler="gcc 12", warnings=("-O9",))
REWARD = RewardBook().resolve("log_speedup")
SPEEDUP = Speedup(value=2.0, low=1.5, high=2.5, baseline="eager")
TABLE = {
    "correct": "",
    "built": "",
    "incorrect": "MISMATCH NONFINITE SCHEMA ALIAS INPUT_MUTATED NONDETERMINISTIC STALE STATE "
    "OUT_OF_BOUNDS",
    "compile_error": "BUILD_FAILED BUILD_TIMEOUT BUILD_LIMIT BUILD_FORBIDDEN",
    "runtime_error": "LOAD_FAILED EXCEPTION CUDA_FAULT OUT_OF_MEMORY EARLY_EXIT PROTOCOL",
    "timeout": "RUN_TIMEOUT",
    "rejected": "CLOCK_DISAGREE CONCURRENCY NO_CUSTOM_KERNEL PRECISION PHYSICS TAMPERING FORBIDDEN",
    "unscored": "NO_DEVICE DEVICE_UNHEALTHY WORKER_LOST QUEUE_DEADLINE CANCELLED BAD_PROBLEM "
    "INTERNAL",
}
"""The design's table, said once more and independently of the schema."""

maybe = st.sampled_from([None, True, False])
fields = st.fixed_dictionaries(
    {
        "outcome": st.sampled_from(sorted(TABLE)),
        "reason": st.none() | st.sampled_from(sorted(Reason)),
        "reward": st.none() | st.floats(),
        "reward_config": st.none() | st.just(RewardConfigRef(name="n", version=1, hash="h")),
        "compiled": maybe,
        "correct": maybe,
        "speedup": st.none() | st.just(SPEEDUP),
        "retryable": st.booleans(),
        "stages": st.just({}) | st.dictionaries(st.just("build"), st.floats()),
    }
)


def legal(made: dict[str, Any]) -> bool:
    """Whether the design allows these fields together."""
    outcome, reason, reward = made["outcome"], made["reason"], made["reward"]
    reasons = TABLE[outcome].split()
    scored = outcome not in ("built", "unscored")
    compiled = {"correct": [True], "built": [True], "incorrect": [True], "compile_error": [False]}
    correct = {"correct": [True], "incorrect": [False]}
    return all(
        [
            reason in reasons if reasons else reason is None,
            (reward is not None and math.isfinite(reward)) if scored else reward is None,
            reward is None or made["reward_config"] is not None,
            made["compiled"] in compiled.get(outcome, [None, True, False]),
            made["correct"] in correct.get(outcome, [None, False]),
            made["speedup"] is None or outcome == "correct",
            not made["retryable"]
            or (outcome == "unscored" and reason not in ("BAD_PROBLEM", "CANCELLED")),
            all(math.isfinite(s) and s >= 0 for s in made["stages"].values()),
        ]
    )


def accepted(made: dict[str, Any]) -> bool:
    provenance = Provenance(service_version="0", harness_hash="0")
    try:
        Verdict(id="x", provenance=provenance, **made)
    except ValidationError:
        return False
    return True


def made_legal(made: dict[str, Any]) -> dict[str, Any]:
    """The fields with what the outcome fixes put right; other fields stay as drawn."""
    outcome = made["outcome"]
    reasons = TABLE[outcome].split()
    fixed = {
        "reason": reasons[len(str(made)) % len(reasons)] if reasons else None,
        "reward": None if outcome in ("built", "unscored") else 0.5,
        "reward_config": RewardConfigRef(name="n", version=1, hash="h"),
        "retryable": False,
        "stages": {},
    }
    if outcome in ("correct", "built", "incorrect"):
        fixed["compiled"] = True
    if outcome == "compile_error":
        fixed["compiled"] = False
    fixed["correct"] = {"correct": True, "incorrect": False}.get(outcome)
    if outcome != "correct":
        fixed["speedup"] = None
    return {**made, **fixed}


@settings(max_examples=1_500, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(fields)
def test_a_verdict_exists_exactly_where_the_design_allows_it(made: dict[str, Any]) -> None:
    assert accepted(made) == legal(made)


@settings(max_examples=500, deadline=None)
@given(fields, fields, st.sets(st.sampled_from(["reason", "reward", "compiled", "correct",
                                                "speedup", "retryable", "reward_config",
                                                "stages"])))  # fmt: skip
def test_near_a_legal_verdict_the_line_is_drawn_the_same(
    base: dict[str, Any], other: dict[str, Any], changed: set[str]
) -> None:
    made = made_legal(base)
    assert accepted(made)
    made |= {name: other[name] for name in changed}
    assert accepted(made) == legal(made)


@pytest.mark.parametrize("built", [None, BUILT], ids=["from the build", "from the judge"])
@pytest.mark.parametrize("reason", sorted(Reason))
def test_each_reason_makes_a_legal_verdict(reason: Reason, built: Built | None) -> None:
    finding = Finding(reason, "why", evidence={"index": 3})
    verdict = verdicts.of_finding(SUBJECT, REWARD, finding, built=built, stages={"build": 1.0})
    assert (verdict.reason, verdict.outcome) == (reason, OUTCOME_OF[reason])
    assert verdict.checks == (Check(name=reason.lower(), passed=False, evidence={"index": 3}),)
    assert legal(verdict.model_dump(mode="python") | {"outcome": str(verdict.outcome)})


@pytest.mark.parametrize("reason", TABLE["unscored"].split())
def test_each_failure_of_ours_makes_a_legal_verdict(reason: str) -> None:
    verdict = verdicts.unscored(SUBJECT, Reason(reason), "why")
    assert (verdict.reward, verdict.reward_config) == (None, None)
    assert verdict.retryable is (reason not in ("BAD_PROBLEM", "CANCELLED"))


def test_a_scored_reason_cannot_be_unscored() -> None:
    with pytest.raises(ValidationError):
        verdicts.unscored(SUBJECT, Reason.MISMATCH, "why")


def test_a_build_alone_has_no_reward() -> None:
    verdict = verdicts.of_built(SUBJECT, BUILT)
    assert (verdict.outcome, verdict.reward, verdict.compiled) == (Outcome.BUILT, None, True)
    assert (verdict.provenance.compiler, verdict.warnings) == ("gcc 12", ("-O9",))


def test_a_correct_judgement_keeps_its_evidence_and_gets_its_reward() -> None:
    device = Provenance(service_version="", harness_hash="", device_class="h200", seed="ab")
    judgement = Judgement(
        checks=(Check(name="fresh", passed=True),),
        speedup=SPEEDUP,
        candidate_time_s=Timing(median=1e-3, spread=1e-5, calls=3),
        stages={"timing": 0.5},
        warnings=("weak problem",),
        provenance=device,
    )
    verdict = verdicts.of_judgement(SUBJECT, REWARD, BUILT, judgement, stages={"judge": 1.0})
    assert verdict.outcome is Outcome.CORRECT
    assert verdict.reward == REWARD.score(Outcome.CORRECT, None, SPEEDUP)
    assert verdict.reward_config == REWARD.ref
    assert verdict.stages == {"timing": 0.5, "judge": 1.0}
    assert verdict.warnings == ("-O9", "weak problem")
    seen = verdict.provenance
    assert (seen.device_class, seen.seed, seen.compiler) == ("h200", "ab", "gcc 12")
    assert (seen.problem_hash, seen.candidate_hash) == ("a" * 64, "b" * 64)
    assert seen.harness_hash == verdicts.harness_hash()


def test_a_refused_judgement_keeps_times_and_checks_but_no_speedup() -> None:
    shared = Check(name="fresh", passed=True)
    refused = Finding(
        Reason.PHYSICS, "too fast", checks=(shared, Check(name="floor", passed=False))
    )
    judgement = Judgement(
        failure=refused,
        checks=(shared,),
        speedup=SPEEDUP,
        reference_time_s=Timing(median=1e-3, spread=0, calls=3),
    )
    verdict = verdicts.of_judgement(SUBJECT, REWARD, BUILT, judgement)
    assert (verdict.outcome, verdict.reason) == (Outcome.REJECTED, Reason.PHYSICS)
    assert verdict.speedup is None
    assert verdict.reference_time_s is not None
    assert Counter(check.name for check in verdict.checks) == {"fresh": 1, "floor": 1}


@given(st.text(max_size=20) | st.integers(1_990, 3_000).map("x".__mul__) | st.just("\ud800"))
@settings(max_examples=50)
def test_any_message_fits_the_wire(message: str) -> None:
    verdict = verdicts.unscored(SUBJECT, Reason.INTERNAL, message)
    assert len(verdict.message) <= MAX_MESSAGE_CHARS
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict
    if len(message) <= MAX_MESSAGE_CHARS and message.isascii():
        assert verdict.message == message


def test_the_harness_hash_is_of_every_source() -> None:
    assert len(verdicts.harness_hash()) == 64
    assert verdicts.harness_hash() == verdicts.harness_hash()
