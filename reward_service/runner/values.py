"""Arguments and results as data: a tree for the structure, and specs for the tensors in it.

A tree is JSON: `{"k": "tensor", "i": 0}` stands for tensor 0, and lists, tuples, dicts and plain
values stand for themselves. Tensors travel beside it as contiguous bytes in shared memory, each
at an offset that the judge chose.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from reward_service.runner.page import SharedMemory

MAX_TENSORS = 64
_PLAIN = (bool, int, float, str, type(None))


class NotDataError(TypeError):
    """A value that is neither a tensor nor plain data."""


def flatten(value: Any) -> tuple[dict[str, Any], list[Tensor]]:
    """The tree of `value` and its tensors in order."""
    tensors: list[Tensor] = []
    return _walk(value, tensors, 0), tensors


def _walk(item: Any, tensors: list[Tensor], depth: int) -> dict[str, Any]:
    # Not a closure: one that calls itself is a cycle, and keeps every result of every call alive
    # as long as the collector is off.
    if depth > 16:
        raise NotDataError("it is nested more than 16 deep")
    if isinstance(item, Tensor):
        if len(tensors) == MAX_TENSORS:
            raise NotDataError(f"it holds more than {MAX_TENSORS} tensors")
        tensors.append(item)
        return {"k": "tensor", "i": len(tensors) - 1}
    if isinstance(item, torch.dtype):
        return {"k": "dtype", "v": str(item).removeprefix("torch.")}
    if isinstance(item, _PLAIN):
        return {"k": "plain", "v": item}
    if isinstance(item, (list, tuple)):
        kind = "list" if isinstance(item, list) else "tuple"
        return {"k": kind, "v": [_walk(child, tensors, depth + 1) for child in item]}
    if isinstance(item, dict) and all(isinstance(key, str) for key in item):
        walked = {key: _walk(child, tensors, depth + 1) for key, child in item.items()}
        return {"k": "dict", "v": walked}
    raise NotDataError(f"it holds a {type(item).__name__}, which is neither tensor nor data")


def unflatten(tree: dict[str, Any], tensors: Sequence[Tensor]) -> Any:
    """The value that `flatten` took apart, around other tensors."""
    match tree["k"]:
        case "tensor":
            return tensors[tree["i"]]
        case "dtype":
            return getattr(torch, tree["v"])
        case "plain":
            return tree["v"]
        case "list":
            return [unflatten(child, tensors) for child in tree["v"]]
        case "tuple":
            return tuple(unflatten(child, tensors) for child in tree["v"])
        case "dict":
            return {key: unflatten(child, tensors) for key, child in tree["v"].items()}
        case other:
            raise ValueError(f"unknown kind {other!r} in a tree")


def spec(tensor: Tensor) -> dict[str, Any]:
    """Shape, dtype, device type and strides, read below any subclass or attribute."""
    base = Tensor
    return {
        "shape": list(base.size(tensor)),
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "device": tensor.device.type,
        "strides": list(base.stride(tensor)),
    }


def byte_count(shape: Sequence[int], dtype: str) -> int:
    """Bytes of the elements of a tensor, laid out without gaps."""
    kind: torch.dtype = getattr(torch, dtype)
    return math.prod(shape) * kind.itemsize


def view(memory: SharedMemory, shape: Sequence[int], dtype: str, offset: int) -> Tensor:
    """A CPU tensor of the given shape over shared memory, contiguous, at a byte offset."""
    kind: torch.dtype = getattr(torch, dtype)
    count = math.prod(shape)
    if count == 0:
        return torch.empty(tuple(shape), dtype=kind)
    flat = torch.frombuffer(memory.map, dtype=kind, count=count, offset=offset)
    return flat.reshape(tuple(shape))


def as_bytes(tensor: Tensor) -> Tensor:
    """The contiguous bytes of a tensor in logical order: uint8, one-dimensional, 8-aligned."""
    # Lazy conjugation and negation are no part of the bytes.
    dense = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if dense.storage_offset() * dense.element_size() % 8:
        dense = dense.clone()
    return dense.reshape(-1).view(torch.uint8)


def digest(tensors: Iterable[Tensor]) -> Tensor:
    """A 64-bit sum over the bits of all tensors, as a zero-dimensional int64 tensor on their
    device. It is no hash against collisions: it has to be unknowable before the bits are."""
    total: Tensor | None = None
    for index, tensor in enumerate(tensors):
        data = as_bytes(tensor)
        whole = data.numel() // 8 * 8
        part = data[:whole].view(torch.int64).sum() + data[whole:].sum(dtype=torch.int64)
        part = part * (2 * index + 1)
        total = part if total is None else total + part.to(total.device)
    return torch.zeros((), dtype=torch.int64) if total is None else total
