"""The distance of an output from its expectation, the reference in float64.

Three metrics: `rel_frobenius` = ||e|| / ||y||; `worst` = max |e_i| / s_i with s_i = |y_i| + rms of
its row + 0.05 rms of y + the smallest normal number of the output's dtype; `bias` = |mean e| /
rms y. A row is the last dimension, or as many of the last as hold 32 elements, because the rms of
a few elements can be near 0 by chance. Positions that are not finite must agree exactly, and count
in no metric. Where y is 0 throughout, the smallest normal number stands for its rms.

Everything is computed in float64 where the tensors are, a chunk at a time, with one transfer of
results at the end of each of the two passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from reward_service.runner.values import as_bytes

_CHUNK = 1 << 19
"""Elements compared at a time: about ten float64 temporaries of 4 MiB."""
_MIN_ROW = 32
_GLOBAL_SHARE = 5e-2


@dataclass(frozen=True)
class Errors:
    """The distance of an output from its expectation; all metrics are inf unless `finite`."""

    rel_frobenius: float
    worst: float
    bias: float
    worst_index: tuple[int, ...]
    """Of complex outputs, with a last number for the real (0) or imaginary (1) part."""
    worst_actual: float
    worst_expected: float
    finite: bool
    """NaN, infinities and their signs are where rounding the expectation puts them."""


def measure(actual: Tensor, expected: Tensor) -> Errors:
    """The errors of an output (any floating or complex dtype) against its expectation.

    `expected` is float64 or complex128, of the same shape and on the same device; contiguous
    tensors are not copied, and the work takes about 50 MiB whatever their size. Raises
    ValueError where shapes, devices or dtypes do not fit.
    """
    y, a = _real(expected), _real(actual)
    if y.dtype != torch.float64 or not a.dtype.is_floating_point:
        raise ValueError(f"cannot measure {actual.dtype} against {expected.dtype}")
    if a.shape != y.shape or a.device != y.device:
        raise ValueError(f"{actual.shape} on {a.device} against {expected.shape} on {y.device}")
    if y.numel() == 0:
        return Errors(0.0, 0.0, 0.0, (), 0.0, 0.0, True)
    shape, cols = y.shape, row_length(y.shape)
    a, y = a.reshape(-1, cols), y.reshape(-1, cols)
    scales = _Scales(y, a.dtype)

    zero = torch.zeros((), dtype=torch.float64, device=y.device)
    squares, total, worst, at, agree = zero, zero, zero - 1, zero, zero == 0
    for rows, columns in _chunks(y):
        want, kept = _kept(y[rows, columns], a.dtype)
        got = a[rows, columns].double()
        same = torch.where(kept, got.isfinite(), (got == want) | (got.isnan() & want.isnan()))
        size = torch.where(kept, y[rows, columns], 0.0)
        error = torch.where(kept, got, 0.0).sub_(size)
        squares = squares + error.square().sum()
        total = total + error.sum()
        ratio = error.abs_().div_(scales.of(size.abs_(), kept, rows))
        ratio = torch.where(same, ratio, torch.inf).flatten()
        value, i = ratio.max(dim=0)
        width = kept.shape[1]
        flat = (rows.start + i // width) * cols + columns.start + i % width
        at = torch.where(value > worst, flat.double(), at)
        worst = torch.maximum(worst, value)
        agree = agree & same.all()
    squares, total, worst, at, agree = torch.stack(
        [squares, total, worst, at, agree.double()]
    ).tolist()
    flat_index = int(at)
    place = (flat_index // cols, flat_index % cols)
    rms = scales.rms if scales.rms > 0 else scales.tiny
    finite = bool(agree)
    count = max(scales.count, 1)
    return Errors(
        rel_frobenius=math.sqrt(squares / count) / rms if finite else math.inf,
        worst=worst if finite else math.inf,
        bias=abs(total) / count / rms if finite else math.inf,
        worst_index=unravel(flat_index, shape),
        worst_actual=float(a[place]),
        worst_expected=float(y[place]),
        finite=finite,
    )


class Equality(NamedTuple):
    """Whether outputs are equal; else the first place where they are not, and what is there."""

    equal: bool
    place: tuple[int, ...] | None
    actual: float | None
    expected: float | None


def equal(actual: Tensor, expected64: Tensor, reference: Tensor) -> Equality:
    """Compare an integer or bool output, element by element.

    Each must be what the reference gives in float64 or in working precision. All three have one
    shape and device; raises ValueError otherwise.
    """
    if not actual.shape == expected64.shape == reference.shape:
        raise ValueError(f"shapes {actual.shape}, {expected64.shape}, {reference.shape} differ")
    wrong = ((actual != expected64) & (actual != reference)).flatten()
    if not bool(wrong.any()):
        return Equality(True, None, None, None)
    index = unravel(int(wrong.int().argmax()), actual.shape)
    return Equality(False, index, float(actual[index]), float(expected64[index]))


def element_scale(expected: Tensor, index: tuple[int, ...], dtype: torch.dtype) -> float:
    """The scale s_i by which the error of one element of a float64 expectation is divided."""
    y = expected.reshape(-1, row_length(expected.shape))
    flat = 0
    for i, size in zip(index, expected.shape, strict=True):
        flat = flat * size + i
    row = slice(flat // y.shape[1], flat // y.shape[1] + 1)
    _, kept = _kept(y[row], dtype)
    scales = _Scales(y, dtype).of(torch.where(kept, y[row], 0.0).abs_(), kept, row)
    return float(scales[0, flat % y.shape[1]])


def row_length(shape: Sequence[int]) -> int:
    """Elements of a row: the last dimension, or as many of the last as hold 32 elements."""
    length = 1
    for size in reversed(shape):
        if length >= _MIN_ROW:
            break
        length *= size
    return length


def unravel(flat: int, shape: Sequence[int]) -> tuple[int, ...]:
    """The index of the element at a row-major position."""
    index = []
    for size in reversed(shape):
        flat, i = divmod(flat, size)
        index.append(i)
    return tuple(reversed(index))


class _Scales:
    """The rms of an expectation [rows, cols], whole and by row, over what is finite in `dtype`."""

    def __init__(self, y: Tensor, dtype: torch.dtype) -> None:
        self.tiny = torch.finfo(dtype).smallest_normal
        total = torch.zeros(2, dtype=torch.float64, device=y.device)
        # Rows longer than a chunk are summed here, others where they are compared.
        long = y.shape[1] > _CHUNK
        self._rows = total.new_zeros(y.shape[0], 2) if long else None
        for rows, columns in _chunks(y):
            _, kept = _kept(y[rows, columns], dtype)
            square = torch.where(kept, y[rows, columns], 0.0).square_().sum()
            sums = torch.stack([square, kept.sum().double()])
            total += sums
            if self._rows is not None:
                self._rows[rows] += sums
        squares, count = total.tolist()
        self.count = int(count)
        self.rms = math.sqrt(squares / max(count, 1))

    def of(self, size: Tensor, kept: Tensor, rows: slice) -> Tensor:
        """The scales of a chunk with the absolute values `size`, 0 where not kept."""
        if self._rows is None:
            square, count = size.square().sum(1), kept.sum(1)
        else:
            square, count = self._rows[rows].unbind(1)
        row_rms = (square / count.clamp(min=1)).sqrt_().unsqueeze(1)
        return size + (row_rms + (_GLOBAL_SHARE * self.rms + self.tiny))


def _chunks(y: Tensor) -> Iterator[tuple[slice, slice]]:
    rows, cols = y.shape
    if cols > _CHUNK:
        for row in range(rows):
            for start in range(0, cols, _CHUNK):
                yield slice(row, row + 1), slice(start, start + _CHUNK)
    else:
        step = _CHUNK // cols
        for row in range(0, rows, step):
            yield slice(row, row + step), slice(0, cols)


def _kept(y: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """`y` rounded to `dtype` (as float64), and where that is finite."""
    rounded = y.to(dtype).double()
    return rounded, rounded.isfinite()


def _real(x: Tensor) -> Tensor:
    return torch.view_as_real(x) if x.is_complex() else x


def same_bits(a: Tensor, b: Tensor) -> bool:
    """Equal bit by bit, so that NaN equals itself."""
    return bool((as_bytes(a) == as_bytes(b)).all())
