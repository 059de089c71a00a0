"""Times a candidate against its reference, in pairs of calls.

Both calls of a pair see the same fresh values, in random order, and both results are verified,
so there is no separate timing phase to recognise. The number of pairs depends on the noise and on
a budget, never on the candidate's speed as such.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from reward_service.errors import DeviceError
from reward_service.findings import Finding
from reward_service.judge.clock import (
    MIN_CALLS,
    ClockEvidence,
    Handover,
    disagreement,
    handover,
)
from reward_service.judge.program import Program, Run, Values
from reward_service.judge.reference import Reference
from reward_service.judge.runner_client import Call
from reward_service.judge.statistics import (
    NoiseFloor,
    StopRule,
    speedup_interval,
    timing_summary,
)
from reward_service.judge.values import Variation
from reward_service.judge.verify import Expectation, WorstSeen, verify_outputs
from reward_service.schemas import Reason, Speedup, Timing

WARM_UP_PAIRS = 3
_OTHER_VALUES_ONE_IN = 8
"""One pair in so many sees values of another distribution, so that timed calls cannot be told
from trials by their values."""

_MOST_UNSOUND = 20
_MOST_IN_CANDIDATE_S = 20.0


@dataclass(frozen=True)
class TimingPlan:
    """How much to measure."""

    budget_s: float
    target_half_width: float = 0.01
    min_pairs: int = 12
    max_pairs: int = 120

    def rule(self) -> StopRule:
        """When to stop."""
        return StopRule(self.target_half_width, self.min_pairs, self.max_pairs, self.budget_s)


@dataclass(frozen=True)
class Resolution:
    """Seconds by which the judge's clock was seen to differ between two equal programs."""

    window_s: float
    """Around the call alone."""
    whole_s: float
    """From the moment that the inputs can be known to the moment that the output is fixed."""


@dataclass
class Samples:
    """What the judge's clock saw and what the runners claim, call by call."""

    reference: list[Call] = field(default_factory=list)
    candidate: list[Call] = field(default_factory=list)
    exports: list[tuple[float, float]] = field(default_factory=list)
    """Seconds in which the reference and the candidate handed over equally many bytes."""
    log_ratios: list[float] = field(default_factory=list)

    def add(self, reference: Call, candidate: Call, everything: bool) -> None:
        """Note one pair; both claims must be above 0."""
        if not everything:  # the states of the two may differ in size
            self.exports.append((reference.export_s, candidate.export_s))
        self.reference.append(reference)
        self.candidate.append(candidate)
        self.log_ratios.append(math.log(reference.claimed_s / candidate.claimed_s))

    def windows(self) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
        """(window, claimed) seconds of the candidate's calls and of the reference's.

        Without the calls that claim more than their window: there the judge was late to see it
        open, on a busy host, and a program that claims too much cheats only itself.
        """
        return _seen(self.candidate), _seen(self.reference)

    def wholes(self) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
        """(wall, claimed) seconds likewise, of all calls."""
        return (
            [(call.wall_s, call.claimed_s) for call in self.candidate],
            [(call.wall_s, call.claimed_s) for call in self.reference],
        )

    def compare(self, resolution: Resolution) -> tuple[ClockEvidence, ClockEvidence]:
        """What the clock says of the calls alone, and of all that surrounds them.

        Where too few windows were seen in time, the whole stands for both. Raises DeviceError
        where the reference's own times are impossible.
        """
        try:
            whole = disagreement(*self.wholes(), resolution.whole_s)
            windows = self.windows()
            if min(map(len, windows)) < MIN_CALLS:
                return whole, whole
            return disagreement(*windows, resolution.window_s), whole
        except ValueError as error:
            raise DeviceError(str(error)) from error

    def handover(self, resolution: Resolution, claimed_s: float) -> Handover:
        """How long results took to be handed over; `claimed_s`: median of the candidate's calls."""
        if not self.exports:
            return Handover(None, 0.0)
        usual, took = zip(*self.exports, strict=True)
        return handover(took, usual, resolution.whole_s, claimed_s)


@dataclass(frozen=True)
class Pair:
    """A call of each program on the same values."""

    values: Values
    reference: Run
    candidate: Run
    everything: bool
    """Whether inputs and state after the call are there too."""


@dataclass(frozen=True)
class Pairs:
    """What timing showed."""

    window: ClockEvidence
    whole: ClockEvidence
    speedup: Speedup
    reference_time: Timing
    candidate_time: Timing


class TimedCallFailedError(Exception):
    """A timed call gave a wrong result."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def time_pairs(
    reference: Reference,
    candidate: Program,
    plan: TimingPlan,
    noise: NoiseFloor,
    *,
    call_limit_s: float,
    resolution: Resolution,
    worst: WorstSeen,
    verify_after: Callable[[Run, Expectation], Finding | None],
    baseline: Literal["eager", "compile"],
    checkpoint: Callable[[], None],
) -> Pairs:
    """Measure until the interval is narrow enough or the budget is spent.

    `verify_after` looks at the inputs and the state that a call left behind.
    Raises `TimedCallFailedError` for a wrong result, and `RunnerError` for a failed call.
    """

    def verify(pair: Pair) -> bool:
        expected = reference.expect_after(pair.values, pair.reference)
        if expected.sound:
            lower = reference.lower_precisions
            finding = verify_outputs(pair.candidate, expected, worst, lower)
            if finding is None and pair.everything:
                finding = verify_after(pair.candidate, expected)
            if finding is not None:
                raise TimedCallFailedError(finding)
        return expected.sound

    samples = collect(
        reference,
        candidate,
        plan.rule(),
        noise,
        call_limit_s=call_limit_s,
        verify=verify,
        checkpoint=checkpoint,
    )
    window, whole = samples.compare(resolution)
    after = samples.handover(resolution, window.claimed_s)
    reason = window.reason or whole.reason or after.reason
    if reason is not None:
        raise TimedCallFailedError(_clock_finding(reason))
    reference_time = timing_summary([call.claimed_s for call in samples.reference])
    candidate_time = timing_summary([call.claimed_s for call in samples.candidate])
    floor = noise.at(min(reference_time.median, candidate_time.median))
    interval = speedup_interval(samples.log_ratios, floor, seed=secrets.randbits(32))
    seen = max(window.seen_s, whole.seen_s) + after.late_s
    low = min(interval.low, interval.value * window.claimed_s / seen)
    speedup = Speedup(value=interval.value, low=low, high=interval.high, baseline=baseline)
    return Pairs(window, whole, speedup, reference_time, candidate_time)


def collect(
    reference: Reference,
    candidate: Program,
    rule: StopRule,
    noise: NoiseFloor,
    *,
    call_limit_s: float,
    verify: Callable[[Pair], bool],
    checkpoint: Callable[[], None],
) -> Samples:
    """Run pairs and keep what the clocks said.

    `verify` looks at every pair: it raises for a wrong result, and says whether the pair counts.
    """
    samples = Samples()
    start = time.monotonic()
    warm_up = WARM_UP_PAIRS
    unsound = 0
    in_candidate = 0.0
    while True:
        checkpoint()
        pair = _run_pair(reference, candidate, call_limit_s)
        if not verify(pair):
            unsound += 1
            if unsound > _MOST_UNSOUND:
                raise DeviceError("the reference is outside its own bounds again and again")
            continue
        if warm_up:
            warm_up -= 1
            continue
        if pair.reference.call.claimed_s <= 0:
            raise DeviceError("the device's own marks gave the reference no time at all")
        if pair.candidate.call.claimed_s <= 0:
            raise TimedCallFailedError(_clock_finding("a call claims to have taken no time"))
        samples.add(pair.reference.call, pair.candidate.call, pair.everything)
        # What the candidate takes does not count: its speed must not decide how often it is
        # measured. Only one that is slow beyond measure is measured less.
        in_candidate += pair.candidate.call.wall_s
        if in_candidate > _MOST_IN_CANDIDATE_S and len(samples.log_ratios) >= rule.min_pairs:
            return samples
        floor = noise.at(pair.reference.call.claimed_s)
        if rule.done(samples.log_ratios, floor, time.monotonic() - start - in_candidate):
            return samples


def _seen(calls: list[Call]) -> list[tuple[float, float]]:
    return [(call.window_s, call.claimed_s) for call in calls if call.claimed_s <= call.window_s]


def _clock_finding(reason: str) -> Finding:
    return Finding(
        Reason.CLOCK_DISAGREE,
        f"the judge's clock and the times that the candidate's process tells disagree: {reason}",
    )


def _run_pair(reference: Reference, candidate: Program, limit_s: float) -> Pair:
    other = secrets.randbelow(_OTHER_VALUES_ONE_IN) == 0
    values = reference.inputs.fresh(Variation.SPIKED if other else Variation.AS_DRAWN)
    reference.program.place(reference.shape.inputs, values)
    candidate.place(reference.shape.inputs, values)
    runs: dict[bool, Run] = {}
    first = bool(secrets.randbits(1))
    renew = bool(secrets.randbits(1))
    # A call learns only when it is done whether its inputs and state are looked at.
    everything = bool(secrets.randbits(1))
    for is_reference in (first, not first):
        if is_reference:
            with candidate.client.resting():
                runs[True] = reference.run(values, placed=True, renew=renew, everything=everything)
        else:
            with reference.program.client.resting():
                runs[False] = candidate.run(
                    values,
                    limit_s,
                    restore=reference.stateful,
                    renew=renew,
                    everything=everything,
                )
    return Pair(values, runs[True], runs[False], everything)
