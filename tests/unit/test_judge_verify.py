"""What is verified of a run, over shapes, dtypes and layouts; `test_judge_accuracy` has the metrics
of single tensors and the sharpness of their bounds."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

from reward_service.findings import Finding
from reward_service.judge.accuracy import bounds, equal, measure
from reward_service.judge.compare import element_scale, unravel
from reward_service.judge.program import Run, Values
from reward_service.judge.runner_client import Call
from reward_service.judge.specs import TensorSpec, schema_difference
from reward_service.judge.verify import (
    Expectation,
    WorstSeen,
    expectation,
    verify_inputs,
    verify_outputs,
    verify_state,
)
from reward_service.schemas import Reason

torch.set_num_threads(1)

SHAPES = st.lists(st.integers(1, 7), max_size=4)
SEEDS = st.integers(0, 2**31)
REAL = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
FLOATING = [*REAL, torch.complex64, torch.complex128]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]
PRECISIONS = st.sampled_from(["fp32", "tf32", "fp16", "bf16"])
quietly = settings(derandomize=True, deadline=None, max_examples=100)


def run(outputs: list[Tensor], inputs: list[Tensor] = [], state: list[Tensor] = []) -> Run:  # noqa: B006
    return Run(Call(0.0, 0.0, 0.0, 0, 0, 0.0), outputs, inputs, state)


def widened(y: Tensor) -> Tensor:
    if y.is_complex():
        return y.to(torch.complex128)
    return y.double() if y.is_floating_point() else y


def expecting(outputs: list[Tensor], precision: str = "fp32") -> Expectation:
    """What a reference without any error expects."""
    double = run([widened(y) for y in outputs])
    return expectation(Values([], [], 0, 0), run(outputs), double, precision)


def draw(shape: list[int], dtype: torch.dtype, g: torch.Generator) -> Tensor:
    if dtype in INTEGERS:
        return torch.randint(2 if dtype is torch.bool else 100, shape, generator=g).to(dtype)
    kind = torch.complex128 if dtype.is_complex else torch.float64
    return torch.randn(shape, generator=g, dtype=kind).to(dtype)


def laid_out(y: Tensor, g: torch.Generator) -> Tensor:
    """The same values in memory of another order, with gaps."""
    order = torch.randperm(y.dim(), generator=g).tolist()
    stored = torch.empty([2 * y.shape[i] for i in order], dtype=y.dtype)
    for i in range(y.dim()):
        stored = stored.narrow(i, 0, y.shape[order[i]])
    return stored.permute([order.index(i) for i in range(y.dim())]).copy_(y)


def verdict(outputs: list[Tensor], expected: Expectation) -> Finding | None:
    return verify_outputs(run(outputs), expected, WorstSeen())


@quietly
@given(SHAPES, st.sampled_from(FLOATING), SEEDS)
def test_the_layout_of_an_output_never_matters(shape, dtype, seed):
    g = torch.Generator().manual_seed(seed)
    y = draw(shape, dtype, g)
    expected = widened(y) * (1 + 1e-3)
    assert measure(laid_out(y, g), laid_out(expected, g)) == measure(y, expected)


@quietly
@given(SHAPES, st.sampled_from(FLOATING), PRECISIONS, SEEDS, st.integers(1, 3), st.booleans())
def test_a_bound_is_sharp_in_any_output_of_any_dtype(shape, dtype, precision, seed, count, over):
    g = torch.Generator().manual_seed(seed)
    outputs = [draw(shape, dtype, g) for _ in range(count)]
    expected = expecting(outputs, precision)
    which = seed % count
    exact = expected.exact[which]
    got = outputs[which] = outputs[which].clone()
    parts = [torch.view_as_real(t) if t.is_complex() else t for t in (exact, got)]
    want, got = parts
    limit = bounds(measure(outputs[which], exact), dtype, precision)
    index = unravel(int(torch.randint(want.numel(), (), generator=g)), want.shape)
    norm = want.norm().item()
    allowed = min(
        limit.worst * element_scale(want, index, got.dtype),
        limit.rel_frobenius * norm,
        limit.bias * norm * math.sqrt(want.numel()),
    )
    got[index] = want[index] + (2.0 if over else 0.5) * allowed * (1 if seed % 2 else -1)
    finding = verdict(outputs, expected)
    assert (finding is not None) is over
    if finding is not None:
        assert finding.reason is Reason.MISMATCH
        assert finding.evidence["output"] == which
        assert finding.evidence["index"] == list(index)


@quietly
@given(SHAPES, st.sampled_from(FLOATING), SEEDS, st.sets(st.integers(0, 50), max_size=5))
def test_what_is_not_finite_must_be_so_in_the_same_places(shape, dtype, seed, places):
    g = torch.Generator().manual_seed(seed)
    y = draw(shape, dtype, g)
    flat = (torch.view_as_real(y) if y.is_complex() else y).view(-1)
    kinds = [math.nan, math.inf, -math.inf]
    for place in places:
        flat[place % flat.numel()] = kinds[place % 3]
    expected = expecting([y.clone()])
    assert verdict([y], expected) is None
    changed = seed % flat.numel()
    old = flat[changed].item()
    others = [value for value in (1.0, *kinds) if repr(value) != repr(old)]
    flat[changed] = others[seed % len(others)]
    assume(not (math.isfinite(old) and flat[changed].isfinite()))
    finding = verdict([y], expected)
    assert finding is not None
    assert finding.reason is Reason.NONFINITE


@quietly
@given(SHAPES, st.sampled_from(REAL), SEEDS, st.booleans())
def test_the_sign_of_zero_counts_for_nothing(shape, dtype, seed, reverse):
    y = draw(shape, dtype, torch.Generator().manual_seed(seed))
    y.view(-1)[seed % y.numel()] = 0.0
    negative = torch.where(y == 0, torch.full_like(y, -0.0), y)
    assert bool(negative.signbit()[y == 0].all())
    got, wanted = (y, negative) if reverse else (negative, y)
    assert verdict([got], expecting([wanted])) is None


@quietly
@given(SHAPES, st.sampled_from(INTEGERS), SEEDS, st.integers(1, 10**9))
def test_an_integer_is_right_or_wrong(shape, dtype, seed, by):
    g = torch.Generator().manual_seed(seed)
    y = draw(shape, dtype, g)
    if dtype is torch.int64:
        y += 2**62  # float64 has no room for the last bits
    expected = expecting([y.clone()])
    assert verdict([laid_out(y, g)], expected) is None
    index = unravel(seed % y.numel(), y.shape)
    y[index] = ~y[index] if dtype is torch.bool else y[index] ^ (by % 127 + 1)
    finding = verdict([y], expected)
    assert finding is not None
    assert (finding.reason, finding.evidence["index"]) == (Reason.MISMATCH, list(index))


@quietly
@given(SHAPES, st.data())
def test_a_shape_that_broadcasts_is_never_taken(shape, data):
    dropped = data.draw(st.integers(0, len(shape)))
    smaller = [1 if data.draw(st.booleans()) else size for size in shape[dropped:]]
    if data.draw(st.booleans()):
        smaller = [1, *smaller]
    assume(smaller != shape)
    assert torch.broadcast_shapes(shape, smaller)
    y, got = torch.ones(shape, dtype=torch.float64), torch.ones(smaller)
    with pytest.raises(ValueError, match="against"):
        measure(got, y)
    with pytest.raises(ValueError, match="differ"):
        equal(got.int(), y.int(), y.int())
    assert schema_difference(TensorSpec.of(got.double()), TensorSpec.of(y)) is not None


@quietly
@given(SHAPES, st.sampled_from([*FLOATING, *INTEGERS]), SEEDS)
def test_one_bit_of_an_input_that_the_reference_leaves_alone_counts(shape, dtype, seed):
    x = draw(shape, dtype, torch.Generator().manual_seed(seed))
    expected = Expectation(Values([x], [], 0, 0), [], run([], [x]), [])
    got = x.clone()
    assert verify_inputs(run([], [got]), expected, "fp32") is None
    bits = got.view(-1).view(torch.uint8)
    bits[seed % bits.numel()] ^= 1
    finding = verify_inputs(run([], [got]), expected, "fp32")
    assert finding is not None
    assert finding.reason is Reason.INPUT_MUTATED


@quietly
@given(SHAPES, st.sampled_from(FLOATING), SEEDS, st.booleans())
def test_state_and_arguments_changed_in_place_must_be_changed_alike(shape, dtype, seed, over):
    g = torch.Generator().manual_seed(seed)
    before, wanted = draw(shape, dtype, g), draw(shape, dtype, g)
    reference = run([], [wanted], [wanted])
    expected = Expectation(Values([before], [], 0, 0), [], reference, [])
    got = wanted * (1.5 if over else 1.0)
    findings = [
        verify_inputs(run([], [got]), expected, "fp32"),
        verify_state(run([], [], [got]), expected, ["buffer"], [[0]], "fp32"),
    ]
    for finding, reason in zip(findings, [Reason.INPUT_MUTATED, Reason.STATE], strict=True):
        assert (finding is not None) is over
        assert finding is None or finding.reason is reason
