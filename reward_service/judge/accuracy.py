"""How far an output may be from its expectation; how far it is, `compare.measure` says.

A bound is 4 times the reference's own error in working precision, at least a floor, at most a cap.
The floor admits honest work in another order of operations; the cap, and 4 < 8 = the ratio between
neighbouring precisions, keep out the next lower one. The row is that of the coarser of the output's
dtype and the policy's precision; float64 is always its own. Measured rel_frobenius (worst):

           floor           cap             bias   honest and naive     the next lower precision
           rel     worst   rel     worst   share
    fp64   1e-12   1e-11   1e-10   1e-9    1/2    1.9e-15 (5.4e-15)    fp32 2e-8 .. 4e-7
    fp32   1e-5    5e-5    1e-4    1e-3    1/2    3.5e-6 (7.7e-6)      tf32 1.8e-4 .. 4.6e-4
    tf32   1e-3    5e-3    2e-3    1e-2    3/4    7.7e-4 (1.3e-3)      bf16 1.4e-3 .. 3.8e-3
    fp16   1e-3    5e-3    4e-3    2e-2    3/4    4.5e-4 (1.7e-3)      bf16 1.4e-3 .. 3.8e-3
    bf16   8e-3    4e-2    2e-2    1e-1    1/2    3.8e-3 (1.5e-2)      fp8  2.3e-2 .. 3.7e-2

The bound of the bias is 4 times the reference's, at least that share of the bound of rel_frobenius;
that of tf32 and fp16 lets the tensor cores' truncation of operands pass (6.5e-4 on positive ones).
A reference outside its own bounds is too ill-conditioned to judge. Long sums of positive values
average input rounding away (TF32, K = 4096: 5e-6); it shows on values whose rounding has one sign
(`values`, fine: 2.4e-4). What is still not told apart, the controls say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch

from reward_service.judge.compare import Equality, Errors, equal, measure

__all__ = [
    "Bounds",
    "Equality",
    "Errors",
    "Precision",
    "bounds",
    "classify",
    "comparable",
    "equal",
    "measure",
    "within",
]

Precision = Literal["fp32", "tf32", "fp16", "bf16"]

_C = 4.0


@dataclass(frozen=True)
class Bounds:
    """The largest `Errors` that pass."""

    rel_frobenius: float
    worst: float
    bias: float


@dataclass(frozen=True)
class _Row:
    floor: tuple[float, float]
    cap: tuple[float, float]
    bias_share: float


_TABLE: dict[str, _Row] = {
    "fp64": _Row((1e-12, 1e-11), (1e-10, 1e-9), 0.5),
    "fp32": _Row((1e-5, 5e-5), (1e-4, 1e-3), 0.5),
    "tf32": _Row((1e-3, 5e-3), (2e-3, 1e-2), 0.75),
    "fp16": _Row((1e-3, 5e-3), (4e-3, 2e-2), 0.75),
    "bf16": _Row((8e-3, 4e-2), (2e-2, 1e-1), 0.5),
}
"""From the finest to the coarsest."""

_ROW_OF_DTYPE: dict[torch.dtype, str] = {
    torch.float64: "fp64",
    torch.complex128: "fp64",
    torch.float32: "fp32",
    torch.complex64: "fp32",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
}


def bounds(reference: Errors, output_dtype: torch.dtype, precision: Precision) -> Bounds:
    """The bounds for an output, given the reference's own errors in working precision.

    Raises ValueError for dtypes that have no bounds (integers are compared by `equal`).
    """
    if output_dtype not in _ROW_OF_DTYPE:
        raise ValueError(f"no error bounds for outputs of {output_dtype}")
    name = _ROW_OF_DTYPE[output_dtype]
    order = list(_TABLE)
    if name != "fp64":
        name = max(name, precision, key=order.index)
    row = _TABLE[name]
    rel = _clamp(_C * reference.rel_frobenius, row.floor[0], row.cap[0])
    worst = _clamp(_C * reference.worst, row.floor[1], row.cap[1])
    bias = _clamp(_C * reference.bias, row.bias_share * rel, rel)
    return Bounds(rel, worst, bias)


def comparable(dtype: torch.dtype) -> bool:
    """Whether outputs of a dtype can be judged: exactly, or within bounds."""
    return dtype in _ROW_OF_DTYPE or not (dtype.is_floating_point or dtype.is_complex)


def within(errors: Errors, bound: Bounds) -> bool:
    """Whether every metric is at most its bound; NaN is not."""
    return (
        errors.finite
        and errors.rel_frobenius <= bound.rel_frobenius
        and errors.worst <= bound.worst
        and errors.bias <= bound.bias
    )


def classify(errors: Errors, controls: Mapping[str, Errors]) -> str | None:
    """The lower precision that an error looks like, or None.

    `controls` holds, by name, the errors of the reference run in each lower precision. A match
    has every metric within 3 times the control's, and an eighth of its rel_frobenius or more;
    the nearest in rel_frobenius wins, the first of equally near ones. The bias of rounding is
    near 0 by chance, so a bias up to an eighth of the control's rel_frobenius matches as well.
    """
    matches = {
        name: abs(math.log(errors.rel_frobenius / control.rel_frobenius))
        for name, control in controls.items()
        if control.finite
        and control.rel_frobenius > 0
        and control.rel_frobenius / 8 <= errors.rel_frobenius <= 3 * control.rel_frobenius
        and errors.worst <= 3 * control.worst
        and errors.bias <= max(3 * control.bias, control.rel_frobenius / 8)
    }
    return min(matches, key=lambda name: matches[name]) if matches else None


def _clamp(value: float, low: float, high: float) -> float:
    # The comparisons are such that NaN becomes the low end.
    return high if value >= high else value if value >= low else low
