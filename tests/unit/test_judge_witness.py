"""What the judge makes of what a runner tells of watched calls."""

from __future__ import annotations

from typing import Any

import pytest

from reward_service.judge.witness import (
    ON_GPU,
    UntoldError,
    WatchedCall,
    believed,
    judge_share,
    not_believed,
    parse,
)
from reward_service.runner.watch import MAX_CALLS, MAX_NAME, Tally
from reward_service.schemas import Policy, Reason

OWN = {"_Z4mineIfEvPT_": 40, "ampere_sgemm_128x64_nn": 40}
ms = 1_000_000


def told(*activities: tuple[str, str, int, int]) -> dict[str, Any]:
    tally = Tally(sum(ns for _, _, ns, _ in activities), len(activities))
    for kind, name, ns, registers in activities:
        tally.add(kind, name, ns, registers)
    return tally.as_json(str)


def seen(*activities: tuple[str, str, int, int], kernels: dict[str, int] | None) -> WatchedCall:
    return parse([told(*activities)] * MAX_CALLS, kernels)[0]


def test_kernels_are_the_candidates_by_name_and_all_else_is_not() -> None:
    call = seen(
        ("kernel", "_Z4mineIfEvPT_", 3 * ms, 40),
        ("kernel", "_Z4mineIdEvPT_", 4 * ms, 40),
        ("copy", "memset", 1 * ms, 0),
        ("function", "a function that there is none of on a GPU", 2 * ms, 0),
        kernels=OWN,
    )
    assert call.custom_share == pytest.approx(0.3)
    assert call.library_share == pytest.approx(0.6)
    assert call.biggest()["copies"] == pytest.approx(0.1)


@pytest.mark.parametrize(("registers", "own"), [(40, 1), (48, 1), (39, 0), (49, 0), (122, 0)])
def test_a_borrowed_name_makes_the_librarys_kernel_no_ones_own(registers: int, own: int) -> None:
    call = seen(("kernel", "ampere_sgemm_128x64_nn", ms, registers), kernels=OWN)
    assert call.custom_share == own


def test_names_too_long_to_be_told_whole_are_still_known() -> None:
    name = "_Z" + "x" * (2 * MAX_NAME)
    assert seen(("kernel", name, ms, 8), kernels={name: 8}).custom_share == 1


def test_on_the_cpu_time_that_nobody_accounts_for_is_not_the_candidates() -> None:
    report = told(("function", "f", 1 * ms, 0), ("operator", "aten::mm", 1 * ms, 0))
    report["busy_ns"] = 10 * ms
    call = parse([report] * MAX_CALLS, None)[0]
    assert call.custom_share == pytest.approx(0.1, rel=0.02)
    assert call.biggest()["neither module nor library"] == pytest.approx(0.8, rel=0.02)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        [{}] * MAX_CALLS,
        [{"busy_ns": 1, "events": 1, "activities": 3}] * MAX_CALLS,
        [{"busy_ns": -1, "events": 1, "activities": []}] * MAX_CALLS,
        [{"busy_ns": 1e300, "events": 1, "activities": []}] * MAX_CALLS,
        [{"busy_ns": 1, "events": 1, "activities": [{"kind": "kernel"}]}] * MAX_CALLS,
        [told(("kernel", "k", ms, 8))] * (MAX_CALLS + 1),
    ],
)
def test_a_report_in_no_known_form_is_refused(answer: object) -> None:
    with pytest.raises(UntoldError):
        parse(answer, OWN)


def calls(*pairs: tuple[float, float]) -> list[WatchedCall]:
    """(seconds, own seconds) of each."""
    return [WatchedCall(total, 1, own, {"mm": total - own}, 0.0, 0.0) for total, own in pairs]


def test_the_least_share_of_the_calls_as_fast_as_usual_counts() -> None:
    found = believed(calls((1e-3, 1e-3), (1e-3, 2e-4), (9e-3, 0.0)), 1e-3, ON_GPU)
    assert found is not None
    assert found.custom_share == pytest.approx(0.2)


def test_calls_that_are_slower_when_watched_are_not_believed() -> None:
    slow = calls((2e-3, 2e-3), (1e-3, 1e-3), (2e-3, 2e-3))
    assert believed(slow, 1e-3, ON_GPU) is None
    assert not_believed(slow, 1e-3, Policy()).reason is Reason.NO_CUSTOM_KERNEL


@pytest.mark.parametrize(
    ("library", "least", "own", "accepted"),
    [
        ("partial", 0.1, 0.1, True),
        ("partial", 0.1, 0.09, False),
        ("partial", 0.0, 0.0, False),
        ("partial", 0.0, 0.01, True),
        ("forbid", 0.1, 0.5, False),
        ("forbid", 0.1, 0.97, False),
        ("forbid", 0.1, 0.99, True),
        ("allow", 0.1, 0.0, True),
    ],
)
def test_the_policy_decides(library: str, least: float, own: float, accepted: bool) -> None:
    policy = Policy.model_validate({"library": library, "min_custom_share": least})
    (call,) = calls((1.0, own))
    finding = judge_share(call, policy)
    assert (finding is None) == accepted
    if finding is not None:
        assert finding.reason is Reason.NO_CUSTOM_KERNEL
        assert "mm" in finding.message


def test_copies_are_no_library_work_where_that_is_forbidden() -> None:
    call = WatchedCall(1.0, 1, 0.5, {}, 0.5, 0.0)
    assert judge_share(call, Policy(library="forbid")) is None
