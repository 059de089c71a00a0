"""On the CPU device, each function of a built module stands in a frame of ours.

`spanned` marks its time for the profiler, and is in place in every call that is timed, so that a
program sees no difference when it is watched (it costs 0.2 us a call). `undone` is the ghost: the
function runs, and then its work is taken back. What it wrote into its arguments is restored, and
what it returns is filled with bytes that are NaN, -1 or an invalid bool. Raising instead would be
no test: a program that falls back on the library when its kernel fails would be right without it.

Framed are the callables that a module has as attributes, the methods of its classes, and the
operators that it registers with torch.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

import torch
from torch._C._profiler import _RecordFunctionFast

SPAN = "own function "
"""How the names of spans begin."""
RAISED = "own function raised"
"""Marks, within a span, that it ended in an exception: making one in C++ takes milliseconds, and is
no work."""
_SPECIAL = frozenset({"__init__", "__call__"})

Function = Callable[..., Any]
Frame = Callable[[str, Function], Function]


def spanned(name: str, function: Function) -> Function:
    """`function`, seen by the profiler."""
    label = SPAN + name[:200]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with _RecordFunctionFast(label):
            try:
                return function(*args, **kwargs)
            except BaseException:
                with _RecordFunctionFast(RAISED):
                    raise

    return call


def undone(name: str, function: Function) -> Function:
    """`function` without an effect."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = {s.data_ptr(): s for s in storages((args, kwargs))}
        before = {pointer: storage.clone() for pointer, storage in given.items()}
        result = function(*args, **kwargs)
        for pointer, storage in given.items():
            if storage.nbytes() == before[pointer].nbytes():
                storage.copy_(before[pointer])
        for storage in storages(result):
            if storage.data_ptr() not in given:
                torch.empty(0, dtype=torch.uint8).set_(storage).fill_(0xFF)
        return _without_numbers(result)

    return call


def storages(value: object) -> Iterator[torch.UntypedStorage]:
    """The memory of all tensors in a nest of containers."""
    if isinstance(value, torch.Tensor):
        yield value.untyped_storage()
    elif isinstance(value, dict):
        yield from storages(tuple(value.values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from storages(item)


def _without_numbers(value: Any) -> Any:
    """Floats may be results as well; other plain values are more often sizes and flags."""
    if isinstance(value, float):
        return math.nan
    if type(value) in (list, tuple):
        return type(value)(map(_without_numbers, value))
    return value


def operators() -> set[str]:
    """The names of torch's operators, such as `aten::mm`."""
    return {name.partition(".")[0] for name in torch._C._dispatch_get_all_op_names()}


def enclose(module: ModuleType, registered: Iterable[str], frame: Frame) -> None:
    """Put every function of a module into a frame; `registered` are its operators."""
    for name, value in list(vars(module).items()):
        if isinstance(value, type) and value.__module__ == module.__name__:
            _enclose_class(value, frame)
        elif callable(value) and not isinstance(value, type) and not name.startswith("__"):
            setattr(module, name, frame(name, value))
    for name in registered:
        namespace, _, operator = name.partition("::")
        home = getattr(torch.ops, namespace)
        setattr(home, operator, frame(name, getattr(home, operator)))


def _enclose_class(cls: type, frame: Frame) -> None:
    for name, value in list(vars(cls).items()):
        if not callable(value) and not isinstance(value, staticmethod):
            continue
        if name.startswith("__") and name not in _SPECIAL:
            continue
        framed = frame(f"{cls.__name__}.{name}", getattr(cls, name))
        setattr(cls, name, staticmethod(framed) if isinstance(value, staticmethod) else framed)
