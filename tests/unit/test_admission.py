"""What a submission becomes, or which field stands in its way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reward_service.admission import Admission, Admitted
from reward_service.errors import RequestError
from reward_service.jobs.registry import Process
from reward_service.problems.library import ProblemLibrary
from reward_service.rewards.book import RewardBook
from reward_service.schemas import DeviceInfo, Submission

BUILDER = Process(name="b", kind="builder", host="h", pid=1)


def worker(device_class: str, state: Any = "idle") -> Process:
    device = DeviceInfo(
        device_class=device_class, name="", uuid="", state=state, isolation="", worker=""
    )
    return Process(name=device_class, kind="worker", host="h", pid=1, device=device)


def submission(**policy: Any) -> Submission:
    return Submission.model_validate(
        {"problem": {"source": "p"}, "candidate": {"source": "c"}, "policy": policy}
    )


def admission(*alive: Process, known: set[str] | None = None) -> Admission:
    return Admission(ProblemLibrary(), RewardBook(), lambda: alive, lambda: known or set())


@pytest.mark.parametrize(
    ("alive", "chosen"),
    [
        (["cpu"], "cpu"),
        (["cpu", "cpu", "h200"], "h200"),
        (["a100", "h200", "h200", "cpu"], "h200"),
        (["h200", "a100"], "a100"),
    ],
)
def test_any_is_the_gpu_class_with_most_devices(alive: list[str], chosen: str) -> None:
    admitted = admission(BUILDER, *map(worker, alive)).admit(submission())
    assert admitted.device_class == chosen


def test_a_quarantined_device_serves_nothing() -> None:
    sick = admission(BUILDER, worker("h200", "quarantined"), worker("cpu"))
    assert sick.admit(submission()).device_class == "cpu"
    with pytest.raises(RequestError) as refused:
        sick.admit(submission(device="h200"))
    assert refused.value.field == "policy.device"


@pytest.mark.parametrize(
    ("alive", "known", "policy", "status"),
    [
        ([], set(), {}, 503),
        ([worker("cpu")], set(), {}, 503),
        ([BUILDER], set(), {}, 503),
        ([BUILDER], set(), {"device": "h200"}, 503),
        ([BUILDER, worker("cpu")], set(), {"device": "h200"}, 422),
        ([BUILDER, worker("cpu")], {"h200", "cpu"}, {"device": "h200"}, 503),
        ([BUILDER, worker("h200")], {"h200"}, {"device": "cpu"}, 503),
        ([BUILDER, worker("cpu")], {"cpu"}, {"device": "h20", "stop_after": "build"}, 422),
        ([worker("cpu")], {"cpu"}, {"stop_after": "build"}, 503),
    ],
)
def test_a_class_that_nobody_serves_is_refused(
    alive: list[Process], known: set[str], policy: dict[str, Any], status: int
) -> None:
    with pytest.raises(RequestError) as refused:
        admission(*alive, known=known).admit(submission(**policy))
    assert refused.value.status == status


@pytest.mark.parametrize(("asked", "given"), [("any", "any"), ("cpu", "cpu"), ("h200", "h200")])
def test_to_stop_after_the_build_a_builder_is_enough(asked: str, given: str) -> None:
    admitted = admission(BUILDER).admit(submission(device=asked, stop_after="build"))
    assert admitted.device_class == given


POLICIES = st.fixed_dictionaries(
    {},
    optional={
        "reward": st.sampled_from(["dice", "log_speedup"]),
        "precision": st.sampled_from(["fp32", "bf16"]),
        "timing": st.booleans(),
        "time_limit_s": st.none() | st.floats(0.1, 10),
        "stop_after": st.sampled_from([None, "build", "correctness"]),
    },
)
SUBMISSIONS = st.builds(
    lambda problem, candidate, policy, deadline_s, priority, tags: Submission.model_validate(
        {
            "problem": {"source": problem},
            "candidate": {"source": candidate},
            "policy": policy,
            "deadline_s": deadline_s,
            "priority": priority,
            "tags": tags,
        }
    ),
    st.sampled_from(["p", "q"]),
    st.sampled_from(["p", "q"]),
    POLICIES,
    st.sampled_from([1.0, 2.0]),
    st.sampled_from(["train", "eval"]),
    st.sampled_from([{}, {"run": "1"}]),
)


@settings(max_examples=300, deadline=None)
@given(SUBMISSIONS, SUBMISSIONS)
def test_keys_are_equal_exactly_for_equal_work(one: Submission, other: Submission) -> None:
    admit = admission(BUILDER, worker("cpu")).admit
    same = (one.problem, one.candidate, one.policy) == (
        other.problem,
        other.candidate,
        other.policy,
    )
    assert (admit(one).key == admit(other).key) is same


def test_the_key_is_of_the_device_class_not_of_its_name() -> None:
    admit = admission(BUILDER, worker("cpu")).admit
    assert admit(submission()).key == admit(submission(device="cpu")).key
    with_gpu = admission(BUILDER, worker("cpu"), worker("h200")).admit
    assert with_gpu(submission()).key != admit(submission()).key


PROGRAM = "class ModelNew:\n    pass\n"


def admitted(**candidate: str) -> Admitted:
    given = {"problem": {"source": "p"}, "candidate": candidate}
    return admission(BUILDER, worker("cpu")).admit(Submission.model_validate(given))


@pytest.mark.parametrize(
    "text", [PROGRAM, f"So:\n```python\n{PROGRAM}```\nDone.", f"<think>x</think>{PROGRAM}"]
)
def test_equal_programs_are_one_evaluation_whatever_form_they_came_in(text: str) -> None:
    plain, found = admitted(source=PROGRAM), admitted(text=text)
    assert (found.key, found.candidate_hash) == (plain.key, plain.candidate_hash)
    assert found.submission.candidate.source == PROGRAM, "nobody has to look for it again"


def test_an_infill_has_the_program_s_hash_and_a_key_of_its_own() -> None:
    plain = admitted(source=PROGRAM)
    cut = [
        admitted(format="infill", prefix=PROGRAM[:n], middle=PROGRAM[n:-1], suffix=PROGRAM[-1:])
        for n in (0, 5)
    ]
    assert {one.candidate_hash for one in cut} == {plain.candidate_hash}
    assert len({one.key for one in (plain, *cut)}) == 3, "their verdicts name other scaffolds"


def test_a_completion_without_a_program_is_admitted_under_its_text() -> None:
    none, other, plain = admitted(text="sorry"), admitted(text="no"), admitted(source="sorry")
    assert none.candidate_hash == plain.candidate_hash
    assert len({none.key, other.key, plain.key}) == 3
