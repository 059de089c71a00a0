"""The judge's wall clock bounds the times that a runner claims.

A call's wall time is its claimed time plus an overhead (launch, synchronise, flags) that the
reference's calls, made beside it by the same protocol, show. Three things must hold:

    calls    each claim is finite, above 0 and not above its own wall time
    excess   median(wall - claimed) is not above the reference's, but for `allowed_s`
    walls    median(wall) - overhead of the reference is not above median(claimed), but for
             `wall_allowed_s`: the speedup by the walls does not contradict the claimed one

Both allowances are the resolution, 4 robust standard errors and 5 % of the claimed median. The
errors of `excess` are those of both medians, which a candidate can swell by claiming at random;
those of `walls` come from the walls, which only real time swells. Both can be swollen by dawdling
at random, so what is allowed must not pay either: see `seen_s`.

`handover` bounds what a runner does after `done`, in the same way.

With the overhead measured on a GPU (median 20 us, 95th percentile 40 us) and 30 calls, work that
is hidden is found from 25 % of a 100 us claim on, and from 6 % of a 10 ms one; honest candidates
are refused less than once in a thousand runs. The work that takes less is what this cannot see.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MIN_CALLS = 5
_ERRORS = 4.0
_SHARE = 0.05
_EXPORT_SHARE = 0.5
_DRIFT = 1e-3
"""Relative difference that two clocks may have."""


@dataclass(frozen=True)
class ClockEvidence:
    """What the clocks say; seconds. `reason` is None where they agree."""

    agrees: bool
    reason: str | None
    excess_s: float
    allowed_s: float
    wall_excess_s: float
    wall_allowed_s: float
    claimed_s: float
    """Median of the candidate's claims."""
    overhead_s: float
    """Median of the reference's walls less its claims."""
    resolution_s: float

    @property
    def seen_s(self) -> float:
        """The candidate's seconds as the judge's clock has them, where those are more.

        What a claim may be below the truth without being refused must not pay: the lower end of
        a speedup is counted from here. What two equal programs differ by is not held against it.
        """
        excess = max(self.excess_s, self.wall_excess_s) - self.resolution_s
        return self.claimed_s + max(0.0, excess)


def disagreement(
    candidate: Sequence[tuple[float, float]],
    reference: Sequence[tuple[float, float]],
    resolution_s: float,
) -> ClockEvidence:
    """Compare (wall, claimed) seconds of the calls of both sides.

    Raises ValueError for fewer than 5 calls of a side, and where the reference's own times are
    impossible, which says nothing of the candidate.
    """
    if min(len(candidate), len(reference)) < MIN_CALLS:
        raise ValueError(f"need {MIN_CALLS} or more calls of each side")
    wall, claimed = np.asarray(candidate, dtype=np.float64).T
    base_wall, base_claimed = np.asarray(reference, dtype=np.float64).T
    if (fault := _impossible(base_wall, base_claimed, resolution_s)) is not None:
        raise ValueError(f"the reference's times are impossible: {fault}")
    overhead = base_wall - base_claimed
    overhead_s = float(np.median(overhead))
    if (fault := _impossible(wall, claimed, resolution_s)) is not None:
        return ClockEvidence(False, fault, *(math.nan,) * 5, overhead_s, resolution_s)

    claimed_s = float(np.median(claimed))
    least = resolution_s + _SHARE * claimed_s
    base_error = _error_of_median(overhead)
    excess = float(np.median(wall - claimed)) - overhead_s
    allowed = least + _ERRORS * math.hypot(_error_of_median(wall - claimed), base_error)
    wall_excess = float(np.median(wall)) - overhead_s - claimed_s
    wall_allowed = least + _ERRORS * math.hypot(_error_of_median(wall), base_error)
    reason = None
    if not excess <= allowed:
        reason = f"calls take {excess * 1e6:.1f} us more than claimed, {allowed * 1e6:.1f} allowed"
    elif not wall_excess <= wall_allowed:
        reason = (
            f"the median wall time is {wall_excess * 1e6:.1f} us above the claimed one, "
            f"{wall_allowed * 1e6:.1f} allowed"
        )
    return ClockEvidence(
        reason is None,
        reason,
        excess,
        allowed,
        wall_excess,
        wall_allowed,
        claimed_s,
        overhead_s,
        resolution_s,
    )


@dataclass(frozen=True)
class Handover:
    """How long results took to be handed over, beside the reference's."""

    reason: str | None
    """What is wrong with it, in words."""
    late_s: float
    """Seconds more than the reference's, beyond what the clocks cannot tell; see `seen_s`."""


def handover(
    candidate: Sequence[float],
    reference: Sequence[float],
    resolution_s: float,
    claimed_s: float,
) -> Handover:
    """Compare the seconds in which results were handed over after calls that claim `claimed_s`.

    Both sides hand over the same bytes, so that neither has a reason to take longer; but after a
    long call caches are cold, and what is small beside the call is no place to hide it.
    """
    took, usual = float(np.median(candidate)), float(np.median(reference))
    error = _error_of_median(np.asarray(reference, dtype=np.float64))
    allowed = usual * (1 + _EXPORT_SHARE) + resolution_s + _SHARE * claimed_s
    allowed += _ERRORS * math.sqrt(2) * error
    reason = None
    if not took <= allowed:
        reason = f"handing over results takes {took * 1e6:.1f} us, {allowed * 1e6:.1f} allowed"
    return Handover(reason, max(0.0, took - usual - resolution_s))


def _impossible(
    wall: NDArray[np.float64], claimed: NDArray[np.float64], resolution_s: float
) -> str | None:
    """The first call whose claim cannot be true, in words."""
    possible = (
        np.isfinite(wall)
        & np.isfinite(claimed)
        & (claimed > 0)
        & (claimed <= wall * (1 + _DRIFT) + resolution_s)
    )
    if possible.all():
        return None
    i = int(np.argmin(possible))
    return f"call {i} claims {claimed[i]:.9g} s within {wall[i]:.9g} s by the judge's clock"


def _error_of_median(x: NDArray[np.float64]) -> float:
    """The standard error of the median, from the median absolute deviation."""
    spread = 1.4826 * float(np.median(np.abs(x - np.median(x))))
    return math.sqrt(math.pi / 2) * spread / math.sqrt(x.size)
