"""What the tensors of a result are, below any Python that a program could have put over them.

A *quirk* of an output is what a plain new tensor has not: memory that it shares with another
output, with an input or with the model's state, or conjugation or negation put off to its reader.
A program may have those that the reference has on the same output, and no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import _get_current_function_mode_stack
from torch.utils._device import DeviceContext

from reward_service.runner.failure import SchemaError

_BASE = torch._C.TensorBase
"""Of its methods no program can replace any."""


class Quirk(NamedTuple):
    """One quirk, in words that are the same for every program."""

    output: int
    what: str


def require_plain(tensors: Sequence[Tensor]) -> None:
    """Raise `SchemaError` for an output that is anything but a plain tensor in memory."""
    if torch._C._len_torch_dispatch_stack() or any(
        type(mode) is not DeviceContext for mode in _get_current_function_mode_stack()
    ):
        raise SchemaError("forward() left a mode active that changes what torch's functions do")
    for index, tensor in enumerate(tensors):
        what = _not_plain(tensor)
        if what is not None:
            raise SchemaError(f"output {index} {what}")


def _not_plain(tensor: Tensor) -> str | None:
    if type(tensor) is not Tensor and type(tensor) is not nn.Parameter:
        return f"is a {type(tensor).__name__}, not a Tensor"
    if tensor.__dict__:
        return "carries attributes of its own"
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return "is wrapped by a function transform"
    if tensor.layout is not torch.strided or not torch._C._has_storage(tensor):
        return f"has the layout {tensor.layout}, not a strided one"
    if _BASE._is_zerotensor(tensor):
        return "has no memory of its own"
    start, end = extent(tensor)
    storage = _BASE.untyped_storage(tensor)
    if end > start and not (
        storage.data_ptr() <= start and end <= storage.data_ptr() + storage.nbytes()
    ):
        return "reaches beyond its storage"
    return None


def lazy(tensors: Sequence[Tensor]) -> set[Quirk]:
    """Outputs whose reader has something left to do."""
    found = set()
    for index, tensor in enumerate(tensors):
        if _BASE.is_conj(tensor):
            found.add(Quirk(index, "is conjugated only when it is read"))
        if _BASE.is_neg(tensor):
            found.add(Quirk(index, "is negated only when it is read"))
    return found


def shared(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], state: Sequence[Tensor]
) -> set[Quirk]:
    """Outputs that share bytes with each other, with inputs or with the state."""
    found = set()
    extents = [extent(tensor) for tensor in outputs]
    of_inputs = [extent(tensor) for tensor in inputs]
    of_state = [extent(tensor) for tensor in state]
    for index, ours in enumerate(extents):
        found |= {
            Quirk(index, f"shares memory with output {other}")
            for other in range(index)
            if overlap(ours, extents[other])
        }
        found |= {
            Quirk(index, f"shares memory with input {other}")
            for other, theirs in enumerate(of_inputs)
            if overlap(ours, theirs)
        }
        if any(overlap(ours, theirs) for theirs in of_state):
            found.add(Quirk(index, "shares memory with the model's state"))
    return found


def extent(tensor: Tensor) -> tuple[int, int]:
    """The first byte of a tensor and the first one after it."""
    start = _BASE.data_ptr(tensor)
    last = 0
    for size, stride in zip(_BASE.size(tensor), _BASE.stride(tensor), strict=True):
        if size == 0:
            return start, start
        last += (size - 1) * stride
    return start, start + (last + 1) * _BASE.element_size(tensor)


def overlap(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Whether two extents have a byte in common."""
    return max(a[0], b[0]) < min(a[1], b[1])
