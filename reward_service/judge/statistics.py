"""From timed pairs to a speedup that says how sure it is.

A pair is a call of the reference and a call of the candidate next to it in time; its log ratio is
log(reference / candidate), so that what slows both alike cancels. The value is the median, which
the tails of the timing noise do not move. The interval is the bootstrap's percentile interval of
the median, expanded for small samples (Student's quantile and sqrt(n / (n - 1)) in place of the
normal one): with noise of 2 % and one call in twenty ten times too slow it covers the truth in
94 to 97 % of runs from 5 pairs on; unexpanded in 91 to 95 %. It is widened by a noise floor, the
bias between two processes that A/A runs show and a bootstrap cannot see.

How long to go on depends on the noise and on the seconds spent in the reference, never on the
candidate's speed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from reward_service.schemas import Timing

MIN_PAIRS = 5
_RESAMPLES = 1000
_CHECK_EVERY = 5


@dataclass(frozen=True)
class Interval:
    """A ratio and its interval."""

    value: float
    low: float
    high: float


def speedup_interval(
    log_ratios: Sequence[float], floor: float, confidence: float = 0.95, seed: int = 0
) -> Interval:
    """The speedup from the log ratios of pairs, and its interval widened by `floor` (relative).

    Raises ValueError for fewer than 5 pairs and for ratios or a floor that are not finite.
    """
    x = np.asarray(log_ratios, dtype=np.float64)
    if x.size < MIN_PAIRS:
        raise ValueError(f"{x.size} pairs are too few for an interval, take {MIN_PAIRS} or more")
    if not np.isfinite(x).all() or not math.isfinite(floor) or floor < 0:
        raise ValueError("log ratios and floor must be finite, and the floor not negative")
    value = float(np.median(x))
    low, high = _bootstrap(x, confidence, seed)
    return Interval(
        math.exp(value),
        math.exp(min(low, value) - floor),
        math.exp(max(high, value) + floor),
    )


def timing_summary(samples: Sequence[float]) -> Timing:
    """Median, half the distance between the quartiles, and count of seconds of single calls."""
    if len(samples) == 0:
        raise ValueError("no samples to summarise")
    low, median, high = np.quantile(np.asarray(samples, dtype=np.float64), [0.25, 0.5, 0.75])
    return Timing(median=float(median), spread=float(high - low) / 2, calls=len(samples))


@dataclass(frozen=True)
class StopRule:
    """When enough pairs are timed."""

    target_half_width: float
    """Of the interval of the log ratio, such as 0.01; a floor above it takes its place."""
    min_pairs: int
    max_pairs: int
    budget_s: float
    """Seconds that the reference's calls may take."""

    def __post_init__(self) -> None:
        if not MIN_PAIRS <= self.min_pairs <= self.max_pairs:
            raise ValueError(f"need {MIN_PAIRS} <= min_pairs <= max_pairs")

    def done(self, log_ratios: Sequence[float], floor: float, elapsed_s: float) -> bool:
        """Whether to stop. `elapsed_s` counts the reference's calls only.

        The width is looked at after every fifth pair.
        """
        pairs = len(log_ratios)
        if pairs < self.min_pairs:
            return False
        if pairs >= self.max_pairs or elapsed_s >= self.budget_s:
            return True
        if (pairs - self.min_pairs) % _CHECK_EVERY:
            return False
        interval = speedup_interval(log_ratios, 0.0)
        half_width = math.log(interval.high / interval.low) / 2
        return half_width <= max(self.target_half_width, floor)


@dataclass(frozen=True)
class NoiseFloor:
    """The relative bias that A/A runs of a device show, by the duration of a call."""

    points: tuple[tuple[float, float], ...]
    """(seconds, floor), by rising seconds."""

    def __post_init__(self) -> None:
        durations = [duration for duration, _ in self.points]
        if not self.points or durations != sorted(set(durations)):
            raise ValueError("a noise floor needs points of rising duration")
        for duration, floor in self.points:
            if not (0 < duration < math.inf and 0 <= floor < math.inf):
                raise ValueError(f"not a duration and a floor: {duration}, {floor}")

    def at(self, duration_s: float) -> float:
        """The floor for calls of a duration: linear in its logarithm, constant past the ends."""
        if not 0 < duration_s < math.inf:
            raise ValueError(f"not a duration: {duration_s}")
        durations, floors = zip(*self.points, strict=True)
        return float(np.interp(math.log(duration_s), np.log(durations), floors))

    def to_json(self) -> str:
        """The text that `from_json` reads."""
        return json.dumps([list(point) for point in self.points])

    @classmethod
    def from_json(cls, text: str) -> NoiseFloor:
        """The floor in a text; raises ValueError for anything else."""
        try:
            return cls(
                tuple((float(duration), float(floor)) for duration, floor in json.loads(text))
            )
        except TypeError as error:
            raise ValueError(f"not a noise floor: {error}") from None


def _bootstrap(x: NDArray[np.float64], confidence: float, seed: int) -> tuple[float, float]:
    """The ends of the expanded percentile interval of the median."""
    n = x.size
    # Resampled places in the sorted sample are smaller, and so faster, than resampled values.
    dtype = np.uint16 if n < 1 << 16 else np.uint32
    places = np.random.default_rng(seed).integers(0, n, (_RESAMPLES, n), dtype=dtype)
    middle = ((n - 1) // 2, n // 2)
    places.partition(middle, axis=1)
    medians = np.sort(x)[places[:, middle]].mean(axis=1)
    tail = _expanded_tail(n, confidence)
    return (
        float(np.quantile(medians, tail, method="lower")),
        float(np.quantile(medians, 1 - tail, method="higher")),
    )


def _expanded_tail(n: int, confidence: float) -> float:
    """The percentile that gives a mean of `n` normal values the coverage that is asked."""
    normal = NormalDist()
    z, v = normal.inv_cdf(0.5 + confidence / 2), n - 1
    # Student's quantile by its expansion in 1 / v, within 1 % from v = 4 on.
    t = z + (z**3 + z) / (4 * v) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v * v)
    return normal.cdf(-t * math.sqrt(n / (n - 1)))
