"""The judge's clock against claims: hidden work is found, honest work is left alone.

Overheads are of the shapes measured or feared on a GPU: 15 us and an exponential tail (median
20 us, 95th percentile 39 us), 20 us of even jitter, and now and then milliseconds.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from reward_service.judge.clock import ClockEvidence, Handover, disagreement, handover

US = 1e-6
RESOLUTION = 2 * US
CALLS = 30


def overheads(rng: np.random.Generator, shape: str) -> np.ndarray:
    if shape == "even":
        return (15 + rng.uniform(0, 20, CALLS)) * US
    x = (15 + rng.exponential(8, CALLS)) * US
    if shape == "with milliseconds":
        x += np.where(rng.random(CALLS) < 0.03, rng.exponential(2e-3, CALLS), 0)
    return x


def side(rng, true_s: float, shape: str = "measured", noise: float = 0.01, hidden=0.0):
    """Calls that take `true_s` and claim `hidden` seconds less (a number, or one a call)."""
    true = true_s * np.exp(noise * rng.standard_normal(CALLS))
    return list(zip(true + overheads(rng, shape), true - hidden, strict=True))


def judge(rng, true_s: float, **candidate) -> ClockEvidence:
    shape = candidate.get("shape", "measured")
    reference = side(rng, 1.3 * true_s, shape)
    return disagreement(side(rng, true_s, **candidate), reference, RESOLUTION)


SHAPES = ["measured", "even", "with milliseconds"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("claimed", [100e-6, 1e-3, 50e-3])
def test_work_of_a_quarter_of_the_claim_is_found_when_hidden(shape, claimed):
    rng = np.random.default_rng(1)
    hidden = 0.25 * claimed
    runs = [judge(rng, claimed + hidden, shape=shape, hidden=hidden) for _ in range(200)]
    assert sum(not run.agrees for run in runs) >= 198


@pytest.mark.parametrize("claimed", [4e-6, 20e-6, 100e-6, 1e-3, 50e-3])
def test_honest_calls_are_refused_less_than_once_in_a_thousand(claimed):
    rng = np.random.default_rng(2)
    runs = [
        judge(rng, claimed, shape=shape, noise=noise)
        for shape in SHAPES
        for noise in (0.002, 0.05)
        for _ in range(350)
    ]
    assert sum(not run.agrees for run in runs) <= 2  # of 2100


def test_claims_swollen_at_random_do_not_buy_an_allowance():
    # Half of the calls claim nearly nothing: the median claim halves, and the spread of
    # wall - claimed is so large that its own error would allow it.
    rng = np.random.default_rng(3)
    for _ in range(100):
        hidden = np.zeros(CALLS)
        hidden[rng.permutation(CALLS)[: CALLS // 2]] = 0.9e-3
        run = judge(rng, 1e-3, hidden=hidden)
        assert not run.agrees
        assert run.excess_s <= run.allowed_s
        assert run.wall_excess_s > run.wall_allowed_s
        assert "wall time" in (run.reason or "")


def test_dawdling_at_random_does_not_pay():
    # Claims of nearly nothing, and walls so spread that their own error would allow it.
    rng = np.random.default_rng(8)
    reference = side(rng, 1.3e-3)[:12]
    calls = [(wall * (1 if i % 2 else 8), 1e-6) for i, (wall, _) in enumerate(side(rng, 1e-3))]
    assert disagreement(calls[:12], reference, RESOLUTION).seen_s > 1e-3


def test_a_lie_that_is_allowed_does_not_pay():
    rng = np.random.default_rng(9)
    hidden = 0.04e-3
    runs = [judge(rng, 1e-3, hidden=hidden, noise=0.002) for _ in range(100)]
    assert all(run.agrees for run in runs)
    assert np.median([run.seen_s for run in runs]) == pytest.approx(1e-3, rel=0.03)


def test_work_left_for_the_export_is_found():
    rng = np.random.default_rng(10)
    usual = (200 + rng.exponential(10, CALLS)) * US
    assert handover(usual[::-1], usual, RESOLUTION, 1e-4) == Handover(None, 0.0)
    assert handover(usual + 150 * US, usual, RESOLUTION, 1e-4).reason is not None


def test_cold_caches_after_a_long_call_are_no_fault_but_do_not_pay():
    rng = np.random.default_rng(11)
    usual = (200 + rng.exponential(10, CALLS)) * US
    late = handover(usual + 2e-3, usual, RESOLUTION, 0.3)
    assert late.reason is None
    assert late.late_s == pytest.approx(2e-3 - RESOLUTION)
    assert handover(usual + 2e-3, usual, RESOLUTION, 1e-3).reason is not None


def test_hiding_in_a_minority_of_calls_gains_nothing():
    rng = np.random.default_rng(4)
    hidden = np.zeros(CALLS)
    hidden[:10] = 0.9e-3
    run = judge(rng, 1e-3, hidden=hidden)
    assert run.claimed_s == pytest.approx(1e-3, rel=0.02)


def test_slow_and_fast_honest_candidates_agree():
    rng = np.random.default_rng(5)
    reference = side(rng, 1e-3)
    for true_s in (5 * US, 1e-3, 0.5):
        assert disagreement(side(rng, true_s), reference, RESOLUTION).agrees


def test_a_cheaper_overhead_than_the_references_is_no_fault():
    rng = np.random.default_rng(6)
    reference = [(wall + 1e-3, claimed) for wall, claimed in side(rng, 1e-3)]
    run = disagreement(side(rng, 1e-3), reference, RESOLUTION)
    assert run.agrees
    assert run.excess_s < 0


@pytest.mark.parametrize("claim", [0.0, -1e-6, math.nan, math.inf, -math.inf, 2.2e-3])
def test_one_impossible_claim_is_enough(claim):
    rng = np.random.default_rng(7)
    calls = side(rng, 1e-3)
    calls[17] = (calls[17][0], claim)
    run = disagreement(calls, side(rng, 1e-3), RESOLUTION)
    assert not run.agrees
    assert "call 17" in (run.reason or "")


def test_clocks_may_drift_by_a_thousandth():
    rng = np.random.default_rng(8)
    calls = [(wall, wall * 1.0005) for wall, _ in side(rng, 1.0)]
    assert disagreement(calls, side(rng, 1.0), RESOLUTION).agrees


def test_too_few_calls_and_an_impossible_reference_say_nothing_of_the_candidate():
    rng = np.random.default_rng(9)
    calls = side(rng, 1e-3)
    with pytest.raises(ValueError, match="5 or more"):
        disagreement(calls[:4], calls, RESOLUTION)
    with pytest.raises(ValueError, match="reference"):
        disagreement(calls, [*calls[:-1], (1e-3, math.nan)], RESOLUTION)
