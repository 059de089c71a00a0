"""Speedups and their intervals, by simulation where they promise a coverage."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reward_service.judge.physics import Work, floor
from reward_service.judge.statistics import (
    NoiseFloor,
    StopRule,
    speedup_interval,
    timing_summary,
)


def noisy(rng: np.random.Generator, pairs: int, sigma: float = 0.02) -> np.ndarray:
    """Log times of calls: log-normal noise, and one call in twenty ten times too slow."""
    slow = np.where(rng.random(pairs) < 0.05, math.log(10), 0.0)
    return sigma * rng.standard_normal(pairs) + slow


@pytest.mark.parametrize("pairs", [5, 8, 15, 30, 60])
@pytest.mark.parametrize("ratio", [1.0, 3.7])
def test_the_true_ratio_lies_inside_in_93_percent_of_runs(pairs, ratio):
    rng = np.random.default_rng([pairs, int(ratio)])
    inside = 0
    for run in range(300):
        interval = speedup_interval(
            math.log(ratio) + noisy(rng, pairs) - noisy(rng, pairs), 0.0, seed=run
        )
        inside += interval.low <= ratio <= interval.high
    assert inside >= 0.93 * 300


def test_drift_that_both_sides_share_cancels():
    rng = np.random.default_rng(0)
    inside, widths = 0, []
    for run in range(300):
        # Clocks that wander by several per cent, from call to call by little.
        drift = np.cumsum(rng.normal(0, 0.01, 120))
        order = np.array([rng.permutation(2) for _ in range(60)])
        times = drift.reshape(60, 2) + rng.normal(0, 0.002, (60, 2))
        reference = np.take_along_axis(times, order[:, :1], 1)[:, 0] + math.log(2)
        candidate = np.take_along_axis(times, order[:, 1:], 1)[:, 0]
        interval = speedup_interval(reference - candidate, 0.0, seed=run)
        inside += interval.low <= 2 <= interval.high
        widths.append(math.log(interval.high / interval.low))
        assert abs(drift[-1]) < 1
    assert inside >= 0.93 * 300
    assert np.median(widths) < 0.01  # the drift alone spreads over about 0.1


def test_stopping_early_keeps_the_coverage():
    rng = np.random.default_rng(1)
    rule = StopRule(0.01, 20, 200, 60.0)
    inside = 0
    for _ in range(150):
        log_ratios: list[float] = []
        while not rule.done(log_ratios, 0.0, 0.0):
            log_ratios.append(float(0.03 * rng.standard_normal()))
        interval = speedup_interval(log_ratios, 0.0)
        inside += interval.low <= 1 <= interval.high
    assert inside >= 0.93 * 150


@settings(derandomize=True, deadline=None)
@given(
    st.lists(st.floats(-20, 20), min_size=5, max_size=80),
    st.floats(0, 0.5),
    st.integers(0, 2**32),
)
def test_the_value_lies_inside_and_the_floor_widens(log_ratios, floor, seed):
    bare = speedup_interval(log_ratios, 0.0, seed=seed)
    wide = speedup_interval(log_ratios, floor, seed=seed)
    assert 0 < wide.low <= bare.low <= bare.value <= bare.high <= wide.high
    assert wide.value == bare.value == pytest.approx(math.exp(np.median(log_ratios)))
    assert wide.low == pytest.approx(bare.low * math.exp(-floor))
    assert wide.high == pytest.approx(bare.high * math.exp(floor))
    assert speedup_interval(log_ratios, floor, seed=seed) == wide


def test_equal_pairs_have_no_width_but_the_floor():
    interval = speedup_interval([0.0] * 10, 0.02)
    assert (interval.low, interval.value, interval.high) == pytest.approx(
        (math.exp(-0.02), 1.0, math.exp(0.02))
    )


def test_more_confidence_is_wider():
    x = np.random.default_rng(2).normal(0, 0.02, 30)
    widths = [
        (lambda i: i.high - i.low)(speedup_interval(x, 0.0, confidence=c)) for c in (0.5, 0.8, 0.99)
    ]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1] / 2


def test_an_interval_of_100_pairs_takes_less_than_3_ms():
    x = np.random.default_rng(3).normal(0, 0.02, 100)
    taken = []
    for seed in range(20):
        start = time.perf_counter()
        speedup_interval(x, 0.01, seed=seed)
        taken.append(time.perf_counter() - start)
    assert min(taken) < 3e-3


@pytest.mark.parametrize(
    ("log_ratios", "floor"),
    [([0.0] * 4, 0.0), ([0.0] * 4 + [math.nan], 0.0), ([0.0] * 4 + [math.inf], 0.0),
     ([0.0] * 9, -0.1), ([0.0] * 9, math.nan)],
)  # fmt: skip
def test_what_has_no_interval_raises(log_ratios, floor):
    with pytest.raises(ValueError, match=r"pairs|finite"):
        speedup_interval(log_ratios, floor)


# --- timing ---------------------------------------------------------------------------------


def test_a_timing_is_the_median_and_half_the_quartile_distance():
    timing = timing_summary([3.0, 1.0, 2.0, 4.0, 1000.0])
    assert (timing.median, timing.spread, timing.calls) == (3.0, 1.0, 5)
    for samples in ([], [0.0], [math.nan]):
        with pytest.raises(ValueError, match=r"samples|greater|finite"):
            timing_summary(samples)


# --- stop rule ------------------------------------------------------------------------------

RULE = StopRule(target_half_width=0.01, min_pairs=10, max_pairs=50, budget_s=2.0)


def pairs(n: int, sigma: float) -> np.ndarray:
    return np.random.default_rng(4).normal(0, sigma, n)


def test_it_stops_when_the_interval_is_narrow_enough():
    assert not RULE.done(pairs(9, 0.0), 0.0, 0.1)
    assert RULE.done(pairs(10, 0.001), 0.0, 0.1)
    assert not RULE.done(pairs(10, 0.1), 0.0, 0.1)
    assert RULE.done(pairs(10, 0.03), 0.2, 0.1)  # the floor is wider than that


def test_it_stops_at_the_most_pairs_or_at_the_end_of_the_budget():
    assert not RULE.done(pairs(49, 1.0), 0.0, 1.9)
    assert RULE.done(pairs(50, 1.0), 0.0, 0.1)
    assert RULE.done(pairs(10, 1.0), 0.0, 2.0)
    assert not RULE.done(pairs(9, 1.0), 0.0, 99.0)


def test_the_number_of_pairs_does_not_depend_on_the_speedup():
    noise = pairs(50, 0.02)

    def needed(shift: float) -> int:
        return next(n for n in range(51) if RULE.done(noise[:n] + shift, 0.0, 0.0))

    assert needed(0.0) == needed(3.0) == needed(-3.0)
    assert 10 < needed(0.0) < 50


@pytest.mark.parametrize(("least", "most"), [(4, 10), (10, 9)])
def test_rules_that_cannot_give_an_interval_are_refused(least, most):
    with pytest.raises(ValueError, match="min_pairs"):
        StopRule(0.01, least, most, 1.0)


# --- noise floor ----------------------------------------------------------------------------

FLOOR = NoiseFloor(((4e-6, 0.1), (40e-6, 0.01), (400e-6, 0.001)))


def test_the_floor_is_interpolated_in_the_logarithm_of_the_duration():
    assert FLOOR.at(4e-6) == pytest.approx(0.1)
    assert FLOOR.at(math.sqrt(4e-6 * 40e-6)) == pytest.approx(0.055)
    assert FLOOR.at(40e-6) == pytest.approx(0.01)


def test_the_floor_is_constant_past_its_ends():
    assert FLOOR.at(1e-9) == 0.1
    assert FLOOR.at(10.0) == 0.001
    assert NoiseFloor(((1e-3, 0.02),)).at(5.0) == 0.02


def test_the_floor_survives_json():
    assert NoiseFloor.from_json(FLOOR.to_json()) == FLOOR


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "3", "[[1, 2, 3]]", "[[2, 0.1], [1, 0.1]]", "[[1, 0.1], [1, 0.2]]",
     "[[0, 0.1]]", "[[1, -0.1]]", "[[1, NaN]]", "[[Infinity, 1]]", '[["a", 1]]', "[null]"],
)  # fmt: skip
def test_what_is_not_a_floor_is_refused(text):
    with pytest.raises(ValueError, match=r"floor|Expecting|unpack|convert"):
        NoiseFloor.from_json(text)


@pytest.mark.parametrize("duration", [0.0, -1.0, math.nan, math.inf])
def test_a_floor_is_asked_for_durations_only(duration):
    with pytest.raises(ValueError, match="duration"):
        FLOOR.at(duration)


# --- physics --------------------------------------------------------------------------------


def _floor(**work):
    return floor(
        Work(**work), bandwidth_bytes_s=4e12, cache_bytes=50_000_000, multiplications_s=5e14
    )


def test_only_bytes_beyond_the_cache_take_time():
    assert _floor(output_bytes=50_000_000).seconds == 0.0
    assert _floor(output_bytes=1_050_000_000).seconds == pytest.approx(250e-6)
    assert _floor(output_bytes=25e6, input_bytes=1_025_000_000).seconds == pytest.approx(250e-6)


def test_a_quarter_of_the_multiplications_takes_time():
    least = _floor(output_bytes=4 * 8192**2, multiplications=8192**3)
    assert least.seconds == pytest.approx(8192**3 / 4 / 5e14)
    assert "multiplications" in least.cause


def test_the_larger_bound_counts():
    least = _floor(output_bytes=1_050_000_000, multiplications=8192**3)
    assert least.seconds == least.arithmetic_s > least.traffic_s > 0


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan")])
def test_a_rate_that_is_none_bounds_nothing(rate):
    for rates in ((rate, 1.0), (1.0, rate)):
        with pytest.raises(ValueError, match="rate"):
            floor(Work(1), bandwidth_bytes_s=rates[0], cache_bytes=0, multiplications_s=rates[1])
