"""Measures how well this device can tell two equal programs apart (A/A).

Two runners hold the same program and are timed like a reference and a candidate. A pair of
processes can carry a bias that its own bootstrap interval does not see (3 % at 4 us on an H200):
what the ratio strays from 1 by becomes the noise floor of that duration. What their unaccounted
wall time differs by becomes the resolution of the judge's clock. Each program is tried in
several pairs of processes.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Self

from reward_service.errors import DeviceError
from reward_service.judge.program import Program
from reward_service.judge.reference import Reference
from reward_service.judge.statistics import NoiseFloor, StopRule
from reward_service.judge.timing import Resolution, Samples, collect

_ROUNDS = 3
_RULE = StopRule(target_half_width=0.0, min_pairs=16, max_pairs=16, budget_s=2.0)
_LEAST_FLOOR = 0.002
_LEAST_RESOLUTION_S = 10e-6
_MARGIN = 2.0
"""On the resolution. Without it an honest kernel was refused on an H200: its calls took 16 us more
than claimed, twice, where the rounds of calibration had differed by 10 us."""
_CALL_LIMIT_S = 30.0
_TRIES = 3
_COARSEST = Resolution(window_s=2e-3, whole_s=5e-3)
"""A coarser clock than this, as a busy host gives it, would let hidden work pay: at 4 ms a stopped
clock was worth a speedup of 3. Usual are 0.1 and 0.2 ms."""

_PROGRAM = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return {expression}

def get_inputs():
    return [torch.randn({shape})]

def get_init_inputs():
    return []
"""

PROGRAMS = tuple(
    _PROGRAM.format(expression=expression, shape=shape)
    for expression, shape in (
        ("torch.relu(x)", "1 << 14"),
        ("torch.relu(x)", "1 << 18"),
        ("x @ x", "256, 256"),
        ("x @ x", "512, 512"),
    )
)
"""From microseconds to milliseconds, bound by launch, by memory and by arithmetic."""


@dataclass(frozen=True)
class Calibration:
    """What a device was found to be able to tell apart."""

    noise: NoiseFloor
    resolution: Resolution

    def as_json(self) -> dict[str, Any]:
        """For the disk."""
        return {"noise": self.noise.to_json(), "resolution": asdict(self.resolution)}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        """What `as_json` gave."""
        return cls(NoiseFloor.from_json(stored["noise"]), Resolution(**stored["resolution"]))


def calibrate(
    reference_of: Callable[[str], Reference],
    new_candidate: Callable[[], Program],
    progress: Callable[[str], None],
) -> Calibration:
    """Run the A/A pairs of every program, again where the host was too busy.

    Raises DeviceError where it stays so.
    """
    for _ in range(_TRIES):
        found = _calibrate_once(reference_of, new_candidate, progress)
        seen = found.resolution
        if seen.window_s <= _COARSEST.window_s and seen.whole_s <= _COARSEST.whole_s:
            return found
        progress("the host was busy: calibrating again")
    raise DeviceError(
        f"this host is too busy to judge on: calls of two equal programs differ by "
        f"{seen.window_s * 1e3:.1f} ms that nothing accounts for"
    )


def _calibrate_once(
    reference_of: Callable[[str], Reference],
    new_candidate: Callable[[], Program],
    progress: Callable[[str], None],
) -> Calibration:
    points: dict[float, float] = {}
    window_s = whole_s = _LEAST_RESOLUTION_S
    for number, source in enumerate(PROGRAMS):
        progress(f"calibrating: A/A {number + 1} of {len(PROGRAMS)}")
        reference = reference_of(source)
        rounds = [_one_pair(reference, new_candidate()) for _ in range(_ROUNDS)]
        duration = statistics.median(
            call.claimed_s for samples in rounds for call in samples.reference
        )
        bias = max(abs(statistics.median(samples.log_ratios)) for samples in rounds)
        points[duration] = max(_LEAST_FLOOR, bias)
        window_s = max(window_s, statistics.median(_difference(*s.windows()) for s in rounds))
        whole_s = max(whole_s, statistics.median(_difference(*s.wholes()) for s in rounds))
    resolution = Resolution(_MARGIN * window_s, _MARGIN * whole_s)
    return Calibration(NoiseFloor(_falling(points)), resolution)


def _one_pair(reference: Reference, twin: Program) -> Samples:
    try:
        twin.ask("numerics", allow_tf32=False)
        twin.ask("load", source=reference.key.source, name="twin", extensions={})
        twin.construct(
            cls="Model",
            seed=reference.construct_seed,
            init=reference.init,
            double=False,
            compiled=False,
        )
        reference.bind(twin)
        return collect(
            reference,
            twin,
            _RULE,
            NoiseFloor(((1.0, 0.0),)),
            call_limit_s=_CALL_LIMIT_S,
            verify=lambda _: True,
            checkpoint=lambda: None,
        )
    finally:
        twin.end()


def _falling(points: dict[float, float]) -> tuple[tuple[float, float], ...]:
    """The points by rising duration, each floor at least that of every longer duration."""
    floors: list[tuple[float, float]] = []
    highest = 0.0
    for duration, floor in sorted(points.items(), reverse=True):
        highest = max(highest, floor)
        floors.append((duration, highest))
    return tuple(reversed(floors))


def _difference(ours: list[tuple[float, float]], theirs: list[tuple[float, float]]) -> float:
    """Seconds by which the two programs' unaccounted times differ; 0 where nothing was seen."""
    if not ours or not theirs:
        return 0.0
    return abs(
        statistics.median(wall - claimed for wall, claimed in ours)
        - statistics.median(wall - claimed for wall, claimed in theirs)
    )
