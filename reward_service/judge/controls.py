"""Outputs that must not pass, made from the expectation: the test of the test.

Each control is what a candidate gives that does no, or not all, of the work: zeros, a mean, a copy
of an input, one element wrong, an unwritten last tile, outputs in the wrong order. A control
changes every output that it applies to, and is judged output by output, so that a loss near 0
does not hide behind a sound logit. Where one passes, the values or the problem are too weak to
tell right from wrong, and the caller changes the one or says so of the other.

Positions where the expectation is not finite are left as they are (a mask costs nothing to copy),
except in a tile that was never written.
`lower_precision` rounds what goes into a reference, for the controls of precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import torch
from torch import Tensor

from reward_service.judge.accuracy import Bounds, within
from reward_service.judge.compare import element_scale, measure, unravel

_TILES = 64


def output_controls(
    expected: Sequence[Tensor], inputs: Sequence[Tensor], limits: Sequence[Bounds | None]
) -> dict[str, list[Tensor]]:
    """All controls by name, each a whole list of outputs.

    `expected` are the outputs in float64 or complex128 (integers and bools as they are), `limits`
    their bounds, None for the exact ones. An output to which a control does not apply is the
    very tensor of `expected`; a control that applies to none is left out.
    """
    return dict(_controls(expected, inputs, limits))


def weak_controls(
    expected: Sequence[Tensor], inputs: Sequence[Tensor], limits: Sequence[Bounds | None]
) -> list[str]:
    """The controls that pass, such as `zeros[1]` for output 1; there should be none.

    Takes what `output_controls` takes, and holds one control in memory at a time.
    """
    return [
        f"{name}[{i}]"
        for name, outputs in _controls(expected, inputs, limits)
        for i, (got, want, limit) in enumerate(zip(outputs, expected, limits, strict=True))
        if got is not want and _passes(got, want, limit)
    ]


LowerPrecision = Literal["tf32", "tf32_cut", "fp16", "bf16"]


def lower_precision(tensor: Tensor, name: LowerPrecision) -> Tensor:
    """The values rounded to nearest even at a lower precision, in their own dtype.

    tf32 has float32's range and 10 bits of mantissa; tf32_cut is what tensor cores make of
    operands that nobody rounded, the same 10 bits without the rest. What is neither floating point
    nor complex comes back as it is.
    """
    if tensor.is_complex():
        parts = lower_precision(torch.view_as_real(tensor), name)
        return torch.complex(parts[..., 0], parts[..., 1])
    if not tensor.is_floating_point():
        return tensor
    if name == "tf32":
        return _to_tf32(tensor.float()).to(tensor.dtype)
    if name == "tf32_cut":
        return _cut_to_tf32(tensor.float()).to(tensor.dtype)
    return tensor.to({"fp16": torch.float16, "bf16": torch.bfloat16}[name]).to(tensor.dtype)


def _to_tf32(x: Tensor) -> Tensor:
    bits = x.contiguous().view(torch.int32)
    even = (bits >> 13) & 1
    rounded = (((bits + 0xFFF + even) >> 13) << 13).view(torch.float32)
    return torch.where(x.isfinite(), rounded, x)


def _cut_to_tf32(x: Tensor) -> Tensor:
    cut = ((x.contiguous().view(torch.int32) >> 13) << 13).view(torch.float32)
    return torch.where(x.isfinite(), cut, x)


def _passes(got: Tensor, want: Tensor, limit: Bounds | None) -> bool:
    if limit is None:
        return torch.equal(got, want)
    return within(measure(got, want), limit)


def _controls(
    expected: Sequence[Tensor], inputs: Sequence[Tensor], limits: Sequence[Bounds | None]
) -> Iterator[tuple[str, list[Tensor]]]:
    for name, make in _MAKERS.items():
        outputs = [
            make(y, limit) if y.numel() else y for y, limit in zip(expected, limits, strict=True)
        ]
        if any(got is not want for got, want in zip(outputs, expected, strict=True)):
            yield name, outputs
    for i, x in enumerate(inputs):
        outputs = [
            x.to(y) if x.shape == y.shape and x.numel() and _same_kind(x, y) else y
            for y in expected
        ]
        if any(got is not want for got, want in zip(outputs, expected, strict=True)):
            yield f"input_{i}", outputs
    for i, y in enumerate(expected):
        for j in range(i + 1, len(expected)):
            z = expected[j]
            if y.shape == z.shape and y.dtype == z.dtype and not torch.equal(y, z):
                swapped = list(expected)
                swapped[i], swapped[j] = z, y
                yield f"swapped_{i}_{j}", swapped
                break


def _same_kind(x: Tensor, y: Tensor) -> bool:
    """Whether a copy of `x` could pose as `y` at all."""
    return y.is_complex() or not x.is_complex()


def _keep_mask(y: Tensor, values: Tensor) -> Tensor:
    return torch.where(y.isfinite(), values, y)


def _zeros(y: Tensor, _: Bounds | None) -> Tensor:
    return _keep_mask(y, torch.zeros_like(y))


def _row_mean(y: Tensor, limit: Bounds | None) -> Tensor:
    """Each row replaced by its mean; does not apply to exact outputs and rows of one element."""
    if limit is None or y.shape[-1:].numel() == 1:
        return y
    finite = y.isfinite()
    count = finite.sum(-1, keepdim=True).clamp(min=1)
    return torch.where(finite, torch.where(finite, y, 0).sum(-1, keepdim=True) / count, y)


def _mean(y: Tensor, limit: Bounds | None) -> Tensor:
    return _row_mean(y.reshape(-1), limit).view(y.shape) if y.numel() > 1 and limit else y


def _one_element(y: Tensor, limit: Bounds | None) -> Tensor:
    """A finite element about the middle, off by twice its bound; an exact one by its last bit."""
    changed = y.clone(memory_format=torch.contiguous_format)
    view = torch.view_as_real(changed) if y.is_complex() else changed
    middle = view.numel() // 2
    finite = view.isfinite().flatten().roll(-middle).byte()
    first = int(finite.argmax())
    if not finite[first]:
        return y
    index = unravel((first + middle) % view.numel(), view.shape)
    if limit is None:
        view[index] = view[index].logical_not() if y.dtype == torch.bool else view[index] ^ 1
    else:
        view[index] += 2 * limit.worst * element_scale(view, index, view.dtype)
    return changed


def _last_tile(y: Tensor, _: Bounds | None) -> Tensor:
    """The last 64th never written: 0, or where 0 is right, something else."""
    changed = y.clone(memory_format=torch.contiguous_format)
    tile = changed.view(-1)[-math.ceil(y.numel() / _TILES) :]
    if bool(tile.any()):
        tile.zero_()
    else:
        size = torch.where(y.isfinite(), y, 0).abs().amax() if y.dtype != torch.bool else y.any()
        tile.fill_(size if bool(size) else 1)
    return changed


_MAKERS: dict[str, Callable[[Tensor, Bounds | None], Tensor]] = {
    "zeros": _zeros,
    "mean": _mean,
    "row_mean": _row_mean,
    "one_element": _one_element,
    "last_tile": _last_tile,
}
