"""What may be put in place of an input: learnt from independent draws of `get_inputs()`.

    fixed        the same in all draws: part of the problem, given as it is
    redraw       has a meaning that values of ours could break: only `get_inputs()` draws it
    signed       independent values of both signs
    unit         independent values that fill [0, 1]
    nonnegative  independent values from about 0 upwards

Only the last three are made by the judge (`values.generate`). Whatever is not plainly one of them
is `redraw`: integers, bools, complex numbers, few elements, whole or few distinct values,
structure (see `structure`), values tied to another input, or that differ in distribution from
draw to draw, ranges such as [1, 2] or [-1, 1] that look like a requirement of the operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import torch
from torch import Tensor

from reward_service.judge.structure import (
    correlated,
    looks_discrete,
    looks_structured,
    same_distribution,
    sample,
)

MIN_ELEMENTS = 64
_SAMPLE = 1 << 18


class Kind(StrEnum):
    """Who draws an input, and from what range."""

    FIXED = "fixed"
    REDRAW = "redraw"
    SIGNED = "signed"
    UNIT = "unit"
    NONNEGATIVE = "nonnegative"


@dataclass(frozen=True)
class Domain:
    """The domain of one input; the numbers are meaningful for the kinds that the judge makes."""

    kind: Kind
    mean: float = 0.0
    std: float = 0.0
    shape: Literal["normal", "uniform", "other"] = "other"
    """Of the distribution."""

    @property
    def generated(self) -> bool:
        """Whether the judge makes values for it."""
        return self.kind in (Kind.SIGNED, Kind.UNIT, Kind.NONNEGATIVE)


_REDRAW = Domain(Kind.REDRAW)


def detect_domains(draws: Sequence[Sequence[Tensor]]) -> list[Domain]:
    """The domain of each input, from two or more independent draws of all inputs (CPU tensors).

    Raises ValueError where the draws do not have the same number of inputs.
    """
    if len(draws) < 2 or len({len(draw) for draw in draws}) != 1:
        raise ValueError("need two or more draws of the same number of inputs")
    inputs = [[draw[i] for draw in draws] for i in range(len(draws[0]))]
    domains = [_detect(versions) for versions in inputs]
    for i, x in enumerate(draws[0]):
        for j, y in enumerate(draws[0][:i]):
            # All pairs count, also with an input that is drawn again.
            if (
                (domains[i].generated or domains[j].generated)
                and Kind.FIXED not in (domains[i].kind, domains[j].kind)
                and x.shape == y.shape
                and correlated(x, y)
            ):
                domains[i] = domains[j] = _REDRAW
    return domains


def _detect(versions: Sequence[Tensor]) -> Domain:
    first = versions[0]
    if any(x.shape != first.shape or x.dtype != first.dtype for x in versions):
        return _REDRAW
    if all(torch.equal(x, first) for x in versions):
        return Domain(Kind.FIXED)
    if not first.is_floating_point() or first.numel() < MIN_ELEMENTS:
        return _REDRAW
    if first.element_size() == 1:
        return _REDRAW  # few values, and no arithmetic on them
    if not all(_plain(x) for x in versions):
        return _REDRAW
    if not all(_independent(first, x) for x in versions[1:]):
        return _REDRAW
    return _range_of(versions)


def _plain(x: Tensor) -> bool:
    return bool(x.isfinite().all()) and not looks_discrete(x) and not looks_structured(x)


def _independent(x: Tensor, y: Tensor) -> bool:
    """Whether two draws have one distribution, and nothing else, in common."""
    kept = int((x == y).sum()) / x.numel()
    return kept < 0.1 and same_distribution(x, y) and not correlated(x, y)


def _range_of(versions: Sequence[Tensor]) -> Domain:
    low = min(x.min().item() for x in versions)
    high = max(x.max().item() for x in versions)
    values = torch.cat([sample(x, _SAMPLE).double() for x in versions])
    mean, std = values.mean().item(), values.std().item()
    negative = (values < 0).double().mean().item()
    shape = _shape_of((values - mean) / std)
    if low < 0:
        bounded_by_one = 0.95 < max(-low, high) <= 1
        kind = Kind.REDRAW if bounded_by_one or not 0.1 <= negative <= 0.9 else Kind.SIGNED
    elif high <= 1 and low < 0.05 and high > 0.95:
        kind = Kind.UNIT
    else:
        kind = Kind.NONNEGATIVE if low < 0.05 * mean else Kind.REDRAW
    return Domain(kind, mean, std, shape)


def _shape_of(z: Tensor) -> Literal["normal", "uniform", "other"]:
    """The nearest of two known distributions of standardised values, if it is near."""
    skew, kurtosis = z.pow(3).mean().item(), z.pow(4).mean().item()
    if abs(skew) > 0.2:
        return "other"
    if abs(kurtosis - 3) < 0.4:
        return "normal"
    if abs(kurtosis - 1.8) < 0.2 and z.abs().max().item() < 2:
        return "uniform"
    return "other"
