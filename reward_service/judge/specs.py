"""What an output tensor must look like, and the reading of what a runner says of its own.

A runner describes its outputs as JSON, a list of objects with exactly the keys `shape`, `dtype`,
`device` and `strides`. The text is foreign: its size, the number of tensors and dimensions and
every number in it are bounded before use, and sizes are Python integers, so nothing overflows.

Strides of dimensions of size 0 or 1, and of empty tensors, address nothing; they are `None`
here, and two specs that differ only in them are equal. An output may have the reference's strides
or be row-major contiguous: a reference that happens to return a view (attention operators return
a transposed one) does not oblige a candidate to lay out its result alike. Everything else is
exact: no broadcasting, no expanded (stride 0) outputs, no conversion of dtype.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

MAX_TENSORS = 64
MAX_STATE_TENSORS = 4_096
"""Parameters and buffers of a model; a DenseNet has a thousand."""
MAX_DIMS = 16
MAX_SIZE = 1 << 40
MAX_TEXT_BYTES = 1 << 16

DTYPES: dict[str, torch.dtype] = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float64,
        torch.float32,
        torch.float16,
        torch.bfloat16,
        torch.float8_e4m3fn,
        torch.float8_e5m2,
        torch.complex64,
        torch.complex128,
        torch.int64,
        torch.int32,
        torch.int16,
        torch.int8,
        torch.uint8,
        torch.bool,
    )
}
"""The dtypes that an input or output may have, by name."""

_KEYS = {"shape", "dtype", "device", "strides"}
_DEVICE = re.compile(r"[a-z]{1,16}")


class SpecError(ValueError):
    """A description of tensors that breaks the limits or the format; the message says where."""


@dataclass(frozen=True)
class TensorSpec:
    """Shape, dtype name (`float32`), device type (`cuda`) and strides in elements of a tensor."""

    shape: tuple[int, ...]
    dtype: str
    device: str
    strides: tuple[int | None, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "strides", _normal_strides(self.shape, self.strides))

    @classmethod
    def of(cls, tensor: torch.Tensor) -> TensorSpec:
        """The spec of a tensor of ours."""
        name = str(tensor.dtype).removeprefix("torch.")
        return cls(tuple(tensor.shape), name, tensor.device.type, tensor.stride())

    @property
    def numel(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, laid out without gaps."""
        return self.numel * DTYPES[self.dtype].itemsize

    @property
    def contiguous(self) -> bool:
        """Whether the strides are those of a row-major tensor without gaps."""
        dense = [math.prod(self.shape[i + 1 :]) for i in range(len(self.shape))]
        return self.strides == _normal_strides(self.shape, dense)

    def as_json(self) -> dict[str, Any]:
        """The object that `parse_specs` reads."""
        return {
            "shape": list(self.shape),
            "dtype": self.dtype,
            "device": self.device,
            "strides": list(self.strides),
        }


def total_bytes(specs: Sequence[TensorSpec]) -> int:
    """Bytes of all the tensors together."""
    return sum(spec.nbytes for spec in specs)


def schema_difference(actual: TensorSpec, expected: TensorSpec) -> str | None:
    """What is wrong with an output's spec, in words, or None where it is as it must be."""
    if actual.shape != expected.shape:
        return f"shape is {actual.shape}, must be {expected.shape}"
    if actual.dtype != expected.dtype:
        return f"dtype is {actual.dtype}, must be {expected.dtype}"
    if actual.device != expected.device:
        return f"device is {actual.device}, must be {expected.device}"
    if actual.strides != expected.strides and not actual.contiguous:
        return f"strides are {actual.strides}, must be {expected.strides} or contiguous"
    return None


def load_specs(text: bytes) -> tuple[TensorSpec, ...]:
    """The specs in a JSON text of foreign origin; raises `SpecError` for anything else."""
    if len(text) > MAX_TEXT_BYTES:
        raise SpecError(f"{len(text)} bytes of JSON, at most {MAX_TEXT_BYTES} are read")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"not JSON: {type(error).__name__}") from None
    return parse_specs(value)


def parse_specs(value: object, most: int = MAX_TENSORS) -> tuple[TensorSpec, ...]:
    """The specs in a decoded JSON value of foreign origin; raises `SpecError`."""
    if not isinstance(value, list):
        raise SpecError("the tensors must be a list")
    if len(value) > most:
        raise SpecError(f"{len(value)} tensors, at most {most} are allowed")
    return tuple(_parse(item, f"tensor {i}") for i, item in enumerate(value))


def _parse(value: object, where: str) -> TensorSpec:
    if not isinstance(value, dict) or set(value) != _KEYS:
        raise SpecError(f"{where}: must be an object with exactly {', '.join(sorted(_KEYS))}")
    dtype, device = value["dtype"], value["device"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise SpecError(f"{where}: dtype {str(dtype)[:32]!r} is not one of {', '.join(DTYPES)}")
    if not isinstance(device, str) or not _DEVICE.fullmatch(device):
        raise SpecError(f"{where}: device {str(device)[:32]!r} is not a device type")
    shape = _sizes(value["shape"], f"{where}: shape")
    raw = value["strides"]
    if not isinstance(raw, list) or len(raw) != len(shape):
        raise SpecError(f"{where}: strides must be a list as long as the shape")
    # A stride may be left out only where it addresses nothing.
    idle = [size <= 1 or 0 in shape for size in shape]
    filled = [0 if skip and s is None else s for skip, s in zip(idle, raw, strict=True)]
    return TensorSpec(shape, dtype, device, _sizes(filled, f"{where}: strides"))


def _sizes(value: object, where: str) -> tuple[int, ...]:
    if not isinstance(value, list) or len(value) > MAX_DIMS:
        raise SpecError(f"{where} must be a list of at most {MAX_DIMS} numbers")
    for size in value:
        if type(size) is not int or not 0 <= size < MAX_SIZE:
            raise SpecError(f"{where} must hold integers from 0 to below {MAX_SIZE}")
    return tuple(value)


def _normal_strides(shape: Sequence[int], strides: Sequence[int | None]) -> tuple[int | None, ...]:
    if len(shape) != len(strides):
        raise SpecError(f"{len(strides)} strides for {len(shape)} dimensions")
    empty = 0 in shape
    return tuple(
        None if empty or size <= 1 else stride for size, stride in zip(shape, strides, strict=True)
    )
