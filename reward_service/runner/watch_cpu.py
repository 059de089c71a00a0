"""Watching on the CPU: the spans of the library's operators and of the modules' functions.

torch's profiler tells of each operator, also of one that is called from C++ or by a thread of the
program's own; `frames.py` marks the functions. A function's time is its span without what any
operator took meanwhile, and without what calling these takes. Allocations and views are nobody's
work.

The profiler is asked below torch.profiler, whose first use imports a second's worth of modules.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

from torch._C._autograd import _disable_profiler, _enable_profiler, _prepare_profiler
from torch._C._profiler import (
    ProfilerActivity,
    ProfilerConfig,
    ProfilerState,
    _ExperimentalConfig,
    _RecordFunctionFast,
)

from reward_service.runner.frames import RAISED, SPAN
from reward_service.runner.intervals import Union
from reward_service.runner.watch import MAX_CALLS, Tally
from reward_service.runner.window import Window

_CALL = "watched call"
# fmt: off
_NOBODYS = frozenset({
    "_local_scalar_dense", "_reshape_alias", "_unsafe_view", "alias", "as_strided", "contiguous",
    "detach", "detach_", "empty", "empty_like", "empty_strided", "expand", "expand_as", "flatten",
    "is_contiguous", "item", "lift_fresh", "narrow", "new_empty", "new_empty_strided", "numpy_T",
    "permute", "reshape", "reshape_as", "resize_", "resolve_conj", "resolve_neg", "select", "set_",
    "slice", "split", "squeeze", "t", "to", "transpose", "unbind", "unflatten", "unsqueeze", "view",
    "view_as",
})
"""Operators that only take memory or look at it otherwise; where one copies, that shows as an
operator within."""
_COPIES = frozenset({
    "_to_copy", "clone", "copy_", "fill_", "full", "full_like", "ones", "ones_like", "zero_",
    "zeros", "zeros_like",
})
# fmt: on
_CALL_NS = 4_000
_LOOK_NS = 1_000
"""What an operator takes beside its span, in the dispatcher and in the profiler: without this the
time around library calls would pass for work."""


@dataclass(frozen=True)
class Span:
    """One event; times in nanoseconds of the profiler's clock."""

    name: str
    start: int
    end: int
    thread: int


class CpuWatch:
    """See `Watch`."""

    def __init__(self, own: Set[str], library: Set[str]) -> None:
        """See `open_watch`."""
        self.own = own
        self.library = library
        self.calls: list[Tally] = []
        self.config = ProfilerConfig(
            ProfilerState.KINETO,
            False,
            False,
            False,
            False,
            False,
            _ExperimentalConfig(profile_all_threads=True),
            "",
        )

    def prepare(self) -> None:
        """See `Watch`. The first operators that are seen take four times as long."""
        _prepare_profiler(self.config, {ProfilerActivity.CPU})
        _enable_profiler(self.config, {ProfilerActivity.CPU})

    def time(self, window: Window, call: Callable[[], Any]) -> tuple[Any, int]:
        """See `Watch`."""

        def marked() -> Any:
            with _RecordFunctionFast(_CALL):
                return call()

        try:
            result, ns = window.time(marked)
        finally:
            events = _disable_profiler().events()
        spans = [
            Span(e.name(), e.start_ns(), e.start_ns() + e.duration_ns(), e.start_thread_id())
            for e in events
        ]
        self.calls.append(tally(spans, self.own, self.library))
        return result, ns

    def report(self) -> list[dict[str, Any]]:
        """See `Watch`."""
        calls, self.calls = self.calls, []
        return [call.as_json(str) for call in calls[-MAX_CALLS:]]


def tally(spans: Iterable[Span], own: Set[str], library: Set[str]) -> Tally:
    """What the time of the watched call went to."""
    ordered = sorted(spans, key=lambda span: (span.start, -span.end))
    whole = next((span for span in ordered if span.name == _CALL), None)
    if whole is None:
        return Tally()
    inside = [span for span in ordered if whole.start <= span.start and span.end <= whole.end]
    found = Tally(whole.end - whole.start, len(inside))
    kinds: dict[str, list[Span]] = defaultdict(list)
    for span in inside:
        kinds[_kind(span.name, own, library)].append(span)
    operators = sorted([*kinds["operator"], *kinds["copy"]], key=lambda span: span.start)
    outermost = list(_outermost(operators))
    for span in outermost:
        found.add(_kind(span.name, own, library), span.name, span.end - span.start)
    taken = Union((span.start, span.end) for span in [*operators, *kinds["nobody"]])
    raised = [span for span in inside if span.name == RAISED]
    for span in _outermost(kinds["function"]):
        if any(_within(mark, span) for mark in raised):
            continue
        alone = span.end - span.start - taken.overlap(span.start, span.end)
        alone -= _CALL_NS * _beginning_in(span, outermost)
        alone -= _LOOK_NS * _beginning_in(span, kinds["nobody"])
        found.add("function", span.name.removeprefix(SPAN), max(0, alone))
    return found


def _kind(name: str, own: Set[str], library: Set[str]) -> str:
    """What an event is; empty for what is neither, such as an operator that the program wrote in
    Python around others."""
    if name.startswith(SPAN) or name in own:
        return "function"
    if name not in library:
        return ""
    operator = name.removeprefix("aten::")
    if operator in _NOBODYS:
        return "nobody"
    return "copy" if operator in _COPIES else "operator"


def _beginning_in(span: Span, others: Sequence[Span]) -> int:
    """How many of others, which are in order, begin while one lasts."""
    first = bisect_left(others, span.start, key=lambda other: other.start)
    return bisect_left(others, span.end, key=lambda other: other.start) - first


def _within(inner: Span, outer: Span) -> bool:
    return inner.thread == outer.thread and outer.start <= inner.start and inner.end <= outer.end


def _outermost(ordered: Iterable[Span]) -> Iterator[Span]:
    """Those that are inside of no other of the same thread."""
    ends: dict[int, int] = {}
    for span in ordered:
        if span.end > ends.get(span.thread, -1):
            ends[span.thread] = span.end
            yield span
