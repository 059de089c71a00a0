"""Decides whether what a program left behind is what it should be."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from reward_service.findings import Finding
from reward_service.judge.accuracy import (
    Bounds,
    Errors,
    Precision,
    bounds,
    classify,
    equal,
    measure,
    within,
)
from reward_service.judge.compare import same_bits
from reward_service.judge.program import Run, Values
from reward_service.schemas import Reason

_MOST_OF_ROUNDING = 0.1
"""A relative error above it is not looked at for a lower precision's, which takes a second."""
_UNKNOWN_ERROR = Errors(math.inf, math.inf, math.inf, (), math.nan, math.nan, finite=True)
"""Of a reference without a float64 twin: its bounds are the caps."""
_NO_ERROR = Errors(0.0, 0.0, 0.0, (), 0.0, 0.0, finite=True)
"""Of state that is compared with the reference's own: its bounds are the floors."""


@dataclass(frozen=True)
class Expectation:
    """What one set of values should give."""

    values: Values
    exact: list[Tensor]
    """The outputs in float64 where the reference has a twin, else in working precision."""
    working: Run
    limits: list[Bounds | None]
    """None: an integer or bool output, compared exactly."""
    sound: bool = True
    """False: the reference itself is outside the bounds; these values can judge nobody."""


LowerPrecisions = dict[str, list[Errors | None]]
"""By lower precision, the errors of each output in it; None for one that is compared exactly."""


def profile(expected: Expectation, outputs: Sequence[Tensor]) -> list[Errors | None]:
    """The errors of each output; None for one that is compared exactly."""
    return [
        None if limit is None else measure(got, want)
        for got, want, limit in zip(outputs, expected.exact, expected.limits, strict=True)
    ]


@dataclass
class WorstSeen:
    """The worst error of a whole evaluation, relative to its bound."""

    ratio: float = 0.0
    evidence: dict[str, Any] | None = None

    def note(self, ratio: float, evidence: dict[str, Any]) -> None:
        """Keep the worst."""
        if self.evidence is None or ratio > self.ratio:
            self.ratio, self.evidence = ratio, evidence


def expectation(
    values: Values, working: Run, double: Run | None, precision: Precision
) -> Expectation:
    """The expectation and its bounds, from the reference's own runs on the same values."""
    limits: list[Bounds | None] = []
    exact: list[Tensor] = []
    sound = True
    for index, output in enumerate(working.outputs):
        if not (output.is_floating_point() or output.is_complex()):
            limits.append(None)
            exact.append(output if double is None else double.outputs[index])
            continue
        if double is None:
            exact.append(
                output.double() if output.is_floating_point() else output.to(torch.complex128)
            )
            limits.append(bounds(_UNKNOWN_ERROR, output.dtype, precision))
        else:
            exact.append(double.outputs[index])
            own = measure(output, double.outputs[index])
            limit = bounds(own, output.dtype, precision)
            sound &= within(own, limit)
            limits.append(limit)
    return Expectation(values, exact, working, limits, sound)


def verify_outputs(
    run: Run,
    expected: Expectation,
    worst: WorstSeen,
    lower: Callable[[Expectation], LowerPrecisions] | None = None,
) -> Finding | None:
    """Compare outputs with the expectation.

    Where an output is wrong, `lower` is asked what it would be in lower precisions, by which a
    candidate that computes in one is recognised.
    """
    for index, (got, want, limit) in enumerate(
        zip(run.outputs, expected.exact, expected.limits, strict=True)
    ):
        if limit is None:
            same = equal(got, want, expected.working.outputs[index])
            if not same.equal:
                evidence = {
                    "output": index,
                    "index": list(same.place or ()),
                    "actual": _plain(same.actual),
                    "expected": _plain(same.expected),
                }
                return Finding(
                    Reason.MISMATCH,
                    f"output {index} at {same.place} is {same.actual}, must be {same.expected}",
                    evidence=evidence,
                )
            continue
        errors = measure(got, want)
        evidence = _evidence(index, errors, limit)
        if not errors.finite:
            return Finding(
                Reason.NONFINITE,
                f"output {index} has NaN or infinity where the reference has none, or lacks it",
                evidence=evidence,
            )
        worst.note(_ratio(errors, limit), evidence)
        if within(errors, limit):
            continue
        rounded = errors.rel_frobenius < _MOST_OF_ROUNDING
        profiles = lower(expected) if lower is not None and rounded else {}
        name = classify(errors, {n: e for n, p in profiles.items() if (e := p[index]) is not None})
        if name is not None:
            return Finding(
                Reason.PRECISION,
                f"output {index} has the error of {name} arithmetic: relative error "
                f"{errors.rel_frobenius:.2e}, allowed {limit.rel_frobenius:.2e}",
                evidence=evidence | {"precision": name},
            )
        return Finding(
            Reason.MISMATCH,
            f"output {index} differs: relative error {errors.rel_frobenius:.2e} (allowed "
            f"{limit.rel_frobenius:.2e}), worst at {errors.worst_index}: "
            f"{errors.worst_actual:.6g} instead of {errors.worst_expected:.6g}",
            evidence=evidence,
        )
    return None


def verify_inputs(run: Run, expected: Expectation, precision: Precision) -> Finding | None:
    """The inputs must be as the reference left them: untouched, or changed alike."""
    for index, (got, given, wanted) in enumerate(
        zip(run.inputs_after, expected.values.tensors, expected.working.inputs_after, strict=True)
    ):
        if same_bits(wanted, given):
            if not same_bits(got, given):
                return Finding(
                    Reason.INPUT_MUTATED,
                    f"input {index} was changed; the reference leaves it alone",
                    evidence={"input": index},
                )
        elif not _close(got, wanted, precision):
            return Finding(
                Reason.INPUT_MUTATED,
                f"input {index}, which the reference changes in place, was left different",
                evidence={"input": index},
            )
    return None


def verify_state(
    run: Run,
    expected: Expectation,
    names: Sequence[str],
    places: Sequence[Sequence[int]],
    precision: Precision,
) -> Finding | None:
    """Parameters and buffers must be as the reference's are after the same call.

    `places` says where in the reference's state each of the candidate's `names` may be.
    """
    for name, got, group in zip(names, run.state_after, places, strict=True):
        wanted = [expected.working.state_after[place] for place in group]
        if not any(_close(got, one, precision) for one in wanted):
            return Finding(
                Reason.STATE,
                f"after the call, {name!r} is not what the reference's is",
                evidence={"state": name},
            )
    return None


def _close(got: Tensor, wanted: Tensor, precision: Precision) -> bool:
    if not (wanted.is_floating_point() or wanted.is_complex()):
        return bool((got == wanted).all())
    return within(measure(got, _widened(wanted)), bounds(_NO_ERROR, wanted.dtype, precision))


def _widened(tensor: Tensor) -> Tensor:
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


def _ratio(errors: Errors, limit: Bounds) -> float:
    return max(
        errors.rel_frobenius / limit.rel_frobenius,
        errors.worst / limit.worst,
        errors.bias / limit.bias,
    )


def _evidence(index: int, errors: Errors, limit: Bounds) -> dict[str, Any]:
    return {
        "output": index,
        "relative_error": _plain(errors.rel_frobenius),
        "relative_error_bound": limit.rel_frobenius,
        "worst_error": _plain(errors.worst),
        "worst_error_bound": limit.worst,
        "bias": _plain(errors.bias),
        "bias_bound": limit.bias,
        "index": list(errors.worst_index),
        "actual": _plain(errors.worst_actual),
        "expected": _plain(errors.worst_expected),
    }


def _plain(value: float | None) -> float | str | None:
    """A number that JSON can hold."""
    return value if value is None or math.isfinite(value) else str(value)
