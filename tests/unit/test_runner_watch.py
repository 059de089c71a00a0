"""What a runner notes of a watched call, and the frames around a module's functions."""

from __future__ import annotations

import math
import threading
import types

import pytest
import torch

from reward_service.runner.frames import RAISED, SPAN, enclose, operators, spanned, undone
from reward_service.runner.intervals import Union
from reward_service.runner.watch import MAX_ACTIVITIES, Tally
from reward_service.runner.watch_cpu import CpuWatch, Span, tally
from reward_service.runner.window import CpuWindow


def span(name: str, start: int, end: int, thread: int = 1) -> Span:
    """Times in microseconds."""
    return Span(name, 1_000 * start, 1_000 * end, thread)


CALL = span("watched call", 100, 1_100)
F = SPAN + "f"


def noted(*spans: Span, own: frozenset[str] = frozenset()) -> dict[tuple[str, str], int]:
    found = tally([CALL, *spans], own, operators() | {"mine::relu"})
    return {(kind, name): ns // 1_000 for (kind, name, _), ns in found.seen.items()}


def test_a_function_has_its_time_without_the_librarys() -> None:
    assert noted(span(F, 200, 700), span("aten::mm", 300, 600)) == {
        ("function", "f"): 500 - 300 - 4,
        ("operator", "aten::mm"): 300,
    }


def test_library_work_in_another_thread_is_taken_off_as_well() -> None:
    assert noted(span(F, 200, 700), span("aten::mm", 300, 600, thread=2))["function", "f"] == 196


def test_operators_within_operators_count_once() -> None:
    found = noted(span("aten::linear", 200, 500), span("aten::addmm", 250, 450))
    assert found == {("operator", "aten::linear"): 300}


def test_taking_memory_is_nobodys_work() -> None:
    assert noted(span(F, 200, 700), span("aten::empty", 200, 300)) == {("function", "f"): 399}


def test_a_copy_within_what_only_looks_is_a_copy() -> None:
    found = noted(span("aten::contiguous", 200, 500), span("aten::clone", 250, 450))
    assert found == {("copy", "aten::clone"): 200}


def test_a_function_that_raises_has_done_nothing() -> None:
    assert noted(span(F, 200, 700), span(RAISED, 690, 691)) == {}
    assert noted(span(F, 200, 700), span(RAISED, 690, 691, thread=2)) == {("function", "f"): 500}


def test_what_lies_outside_of_the_call_does_not_count() -> None:
    assert noted(span("aten::mm", 0, 90), span(F, 1_200, 1_300)) == {}


def test_operators_that_a_module_registers_are_its_functions() -> None:
    ours = span("mine::relu", 200, 300)
    assert noted(ours) == {("operator", "mine::relu"): 100}
    assert noted(ours, own=frozenset({"mine::relu"})) == {("function", "mine::relu"): 100}


def test_an_operator_that_the_program_wrote_around_others_is_neither() -> None:
    assert noted(span("python::op", 200, 900), span("aten::mm", 300, 500), span(F, 600, 700)) == {
        ("operator", "aten::mm"): 200,
        ("function", "f"): 100,
    }


def test_overlapping_stretches_count_once() -> None:
    union = Union([(0, 10), (5, 20), (30, 40), (30, 35)])
    assert union.length == 30
    assert union.overlap(8, 33) == 15
    assert union.overlap(20, 30) == 0


def test_a_flood_of_names_stays_small_and_keeps_the_biggest() -> None:
    flood = Tally()
    for number in range(10 * MAX_ACTIVITIES):
        flood.add("kernel", f"k{number}" * 1_000, number)
    told = flood.as_json(str)["activities"]
    assert len(told) == MAX_ACTIVITIES
    assert told[0]["ns"] == 10 * MAX_ACTIVITIES - 1


def test_the_profiler_sees_the_library_wherever_it_is_called_from() -> None:
    watch = CpuWatch(frozenset(), operators())
    x = torch.randn(200, 200)

    def in_a_thread() -> None:
        thread = threading.Thread(target=lambda: torch.mm(x, x))
        thread.start()
        thread.join()

    def call() -> None:
        torch.add(x, x)
        spanned("f", in_a_thread)()

    for _ in range(2):
        watch.prepare()
        watch.time(CpuWindow(), call)
    for report in watch.report():
        kinds = {item["name"]: item["kind"] for item in report["activities"]}
        assert kinds == {"aten::add": "operator", "aten::mm": "operator", "f": "function"}
    assert watch.report() == []


# --- frames ----------------------------------------------------------------------------------


def module() -> types.ModuleType:
    made = types.ModuleType("ext")

    class Kernel:
        def __init__(self, factor: float) -> None:
            self.factor = factor

        def run(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.factor

        @staticmethod
        def ones(x: torch.Tensor) -> torch.Tensor:
            return torch.ones_like(x)

    Kernel.__module__ = "ext"
    made.Kernel = Kernel
    made.double = lambda x: x * 2
    made.fill = lambda x: x.fill_(7)
    made.fill_behind = lambda x: x.numpy().fill(7)
    made.norm = lambda x: (float(x.norm()), len(x))
    made.size = 3
    return made


def ghostly() -> types.ModuleType:
    made = module()
    enclose(made, (), undone)
    return made


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.complex64])
def test_a_ghosts_results_are_never_right(dtype: torch.dtype) -> None:
    x = torch.arange(8).to(dtype)
    assert not (ghostly().double(x) == x * 2).any()
    assert not (ghostly().Kernel(3).run(x) == x * 3).any()
    assert not (ghostly().Kernel.ones(x) == 1).any()


@pytest.mark.parametrize("name", ["fill", "fill_behind"])
def test_what_a_ghost_writes_into_its_arguments_is_undone(name: str) -> None:
    x = torch.randn(4, 6).t()[1:]
    before = x.clone()
    getattr(ghostly(), name)(x)
    assert torch.equal(x, before)


def test_a_ghost_keeps_sizes_and_spoils_numbers() -> None:
    norm, size = ghostly().norm(torch.ones(5))
    assert math.isnan(norm)
    assert size == 5
    assert ghostly().size == 3


def test_a_frame_changes_nothing_that_a_program_would_see() -> None:
    made = module()
    enclose(made, (), spanned)
    x = torch.randn(8)
    assert torch.equal(made.double(x), x * 2)
    assert torch.equal(made.Kernel(3).run(x), x * 3)
    assert torch.equal(made.Kernel.ones(x), torch.ones(8))
    assert isinstance(made.Kernel(1), made.Kernel)


def test_operators_that_a_module_registers_are_framed() -> None:
    before = operators()
    library = torch.library.Library("rs_frames_test", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")
    new = operators() - before
    assert new == {"rs_frames_test::twice"}
    enclose(module(), new, undone)
    assert torch.ops.rs_frames_test.twice(torch.ones(4)).isnan().all()
