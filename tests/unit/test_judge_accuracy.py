"""The comparer: its metrics against an oracle, mutations that it must see, and its bounds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from reward_service.judge import compare
from reward_service.judge.accuracy import (
    Bounds,
    Errors,
    bounds,
    classify,
    equal,
    measure,
    within,
)
from reward_service.judge.compare import element_scale, row_length

torch.set_num_threads(1)

EXACT = Errors(0.0, 0.0, 0.0, (), 0.0, 0.0, True)
FLOATS = {
    "float64": torch.float64,
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}
SHAPES = st.lists(st.integers(1, 9), max_size=4)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def oracle(actual: torch.Tensor, expected: torch.Tensor) -> tuple[float, float, float]:
    """The three metrics, written anew with numpy for finite values."""
    a, y = actual.double().numpy(), expected.numpy()
    e, rows = a - y, y.reshape(-1, row_length(y.shape))
    rms = np.sqrt(np.mean(y**2))
    row_rms = np.sqrt(np.mean(rows**2, axis=1, keepdims=True)) + 0 * rows
    tiny = torch.finfo(actual.dtype).tiny
    scale = np.abs(y) + row_rms.reshape(y.shape) + 5e-2 * rms + tiny
    return (
        float(np.linalg.norm(e.ravel()) / np.linalg.norm(y.ravel())),
        float(np.max(np.abs(e) / scale)),
        float(abs(np.mean(e)) / rms),
    )


@settings(derandomize=True, deadline=None)
@given(SHAPES, st.sampled_from(sorted(FLOATS)), st.sampled_from([50, 400, 1 << 19]), st.integers(0))
def test_metrics_equal_an_oracle_whatever_the_chunks(shape, dtype, chunk, seed):
    g = seeded(seed % 2**31)
    expected = torch.randn(shape, generator=g, dtype=torch.float64) * 3
    actual = (expected + 0.1 * torch.randn(shape, generator=g, dtype=torch.float64)).to(
        FLOATS[dtype]
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compare, "_CHUNK", chunk)
        got = measure(actual, expected)
        scale = element_scale(expected, got.worst_index, actual.dtype)
    assert (got.rel_frobenius, got.worst, got.bias) == pytest.approx(oracle(actual, expected))
    assert got.worst_actual == actual[got.worst_index].item()
    assert got.worst_expected == expected[got.worst_index].item()
    assert got.worst == pytest.approx(abs(got.worst_actual - got.worst_expected) / scale)


def mutant(dtype: torch.dtype, shape: list[int], seed: int, factor: float):
    """An expectation, and an output with one element off by `factor` of its tightest bound."""
    g = seeded(seed)
    actual = torch.randn(shape, generator=g).to(dtype)
    expected = actual.double().clone()
    limit = bounds(EXACT, dtype, "fp32")
    place = int(torch.randint(expected.numel(), (), generator=g))
    index = compare.unravel(place, expected.shape)
    norm = expected.norm().item()
    allowed = min(
        limit.worst * element_scale(expected, index, dtype),
        limit.rel_frobenius * norm,
        limit.bias * norm * math.sqrt(expected.numel()),
    )
    sign = 1 if seed % 2 else -1
    actual[index] = (expected[index] + sign * factor * allowed).to(dtype)
    return measure(actual, expected), limit, index


@pytest.mark.parametrize("dtype", sorted(FLOATS))
def test_one_element_off_by_twice_its_bound_fails_100_of_100(dtype):
    for seed in range(100):
        errors, limit, index = mutant(FLOATS[dtype], [3, 1 + seed % 7, 40], seed, 2.0)
        assert not within(errors, limit)
        assert errors.worst_index == index


@pytest.mark.parametrize("dtype", sorted(FLOATS))
def test_one_element_off_by_half_its_bound_passes_100_of_100(dtype):
    for seed in range(100):
        errors, limit, _ = mutant(FLOATS[dtype], [3, 1 + seed % 7, 40], seed, 0.5)
        assert within(errors, limit)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(SHAPES, st.sampled_from(["float32", "float64"]), st.integers(0, 2**31), st.booleans())
def test_the_bound_is_sharp_for_any_shape_and_position(shape, dtype, seed, over):
    errors, limit, _ = mutant(FLOATS[dtype], shape, seed, 2.0 if over else 0.5)
    assert within(errors, limit) is not over


@settings(derandomize=True, deadline=None)
@given(
    SHAPES,
    st.sampled_from(sorted(FLOATS)),
    st.sampled_from([math.nan, math.inf, -math.inf]),
    st.integers(0, 2**31),
)
def test_a_planted_nan_or_infinity_fails_and_is_found(shape, dtype, value, seed):
    expected = torch.randn(shape, generator=seeded(seed), dtype=torch.float64)
    actual = expected.to(FLOATS[dtype], copy=True)
    index = compare.unravel(seed % actual.numel(), actual.shape)
    actual[index] = value
    errors = measure(actual, expected)
    assert not errors.finite
    assert errors.worst_index == index
    assert not within(errors, Bounds(math.inf, math.inf, math.inf))
    # And where the expectation has it too, it passes.
    expected[index] = value
    assert within(measure(actual, expected), bounds(EXACT, actual.dtype, "fp32"))


def test_signs_of_infinities_and_kinds_of_nonfinite_count():
    expected = torch.tensor([1.0, math.inf, -math.inf, math.nan, 2.0], dtype=torch.float64)
    assert measure(expected.float(), expected).finite
    for i, value in ((1, -math.inf), (2, math.inf), (3, math.inf), (1, math.nan), (1, 3e38)):
        actual = expected.float()
        actual[i] = value
        errors = measure(actual, expected)
        assert (errors.finite, errors.worst_index) == (False, (i,))


def test_overflow_of_the_output_dtype_is_expected_as_infinity():
    expected = torch.tensor([1.0, 1e6, -1e6], dtype=torch.float64)
    half = expected.half()
    assert half.isinf().sum() == 2
    assert measure(half, expected) == replace(
        EXACT, worst_index=(0,), worst_actual=1.0, worst_expected=1.0
    )
    assert not measure(torch.tensor([1.0, 65504.0, -65504.0]).half(), expected).finite


def test_nan_metrics_do_not_pass():
    limit = Bounds(1.0, 1.0, 1.0)
    for field in ("rel_frobenius", "worst", "bias"):
        assert within(EXACT, limit)
        assert not within(replace(EXACT, **{field: math.nan}), limit)


def test_an_expectation_of_zeros_is_measured_absolutely():
    expected = torch.zeros(8, 8, dtype=torch.float64)
    limit = bounds(EXACT, torch.float32, "fp32")
    assert within(measure(torch.zeros(8, 8), expected), limit)
    for value in (1e-30, 1.0):
        assert not within(measure(torch.full((8, 8), value), expected), limit)


def test_a_dropped_last_tile_and_swapped_outputs_fail():
    g = seeded(1)
    a = torch.randn(64, 64, generator=g, dtype=torch.float64)
    b = torch.randn(64, 64, generator=g, dtype=torch.float64)
    limit = bounds(EXACT, torch.bfloat16, "bf16")
    short = a.bfloat16()
    short[-1] = 0
    assert within(measure(a.bfloat16(), a), limit)
    assert not within(measure(short, a), limit)
    assert not within(measure(b.bfloat16(), a), limit)


def test_complex_outputs_are_measured_as_pairs():
    expected = torch.randn(5, 7, generator=seeded(2), dtype=torch.complex128)
    actual = expected.to(torch.complex64)
    limit = bounds(EXACT, torch.complex64, "fp32")
    assert within(measure(actual, expected), limit)
    actual[2, 3] += 1e-2j
    errors = measure(actual, expected)
    assert not within(errors, limit)
    assert errors.worst_index == (2, 3, 1)


def test_empty_and_scalar_outputs():
    empty = torch.empty(0, 3, dtype=torch.float64)
    assert measure(empty.float(), empty) == EXACT
    scalar = torch.tensor(2.0, dtype=torch.float64)
    assert measure(torch.tensor(2.2), scalar).rel_frobenius == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (torch.ones(1), torch.ones(4, 5, dtype=torch.float64)),
        (torch.ones(5), torch.ones(1, 5, dtype=torch.float64)),
        (torch.ones(5), torch.ones(5)),
        (torch.ones(5, dtype=torch.int64), torch.ones(5, dtype=torch.float64)),
        (torch.ones(5, dtype=torch.complex64), torch.ones(5, dtype=torch.float64)),
    ],
)
def test_what_cannot_be_compared_raises(actual, expected):
    with pytest.raises(ValueError, match="against"):
        measure(actual, expected)


def test_no_temporary_is_larger_than_a_chunk():
    largest = 0

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nonlocal largest
            out = func(*args, **(kwargs or {}))
            known = {a.untyped_storage().data_ptr() for a in args if isinstance(a, torch.Tensor)}
            if isinstance(out, torch.Tensor) and out.untyped_storage().data_ptr() not in known:
                largest = max(largest, out.untyped_storage().nbytes())
            return out

    for shape in ((1 << 20,), (1 << 10, 1 << 10), (1 << 20, 1)):
        actual, expected = torch.ones(shape), torch.ones(shape, dtype=torch.float64)
        with Watch():
            measure(actual, expected)
    assert largest <= 8 * compare._CHUNK


def test_rows_near_zero_do_not_refuse_honest_noise():
    # One output feature: a row of one element would be its own scale.
    g = seeded(3)
    expected = torch.randn(4096, 1, generator=g, dtype=torch.float64)
    noise = 1e-6 * torch.randn(4096, 1, generator=g, dtype=torch.float64)
    assert expected.abs().min() < 1e-3
    assert within(
        measure((expected + noise).float(), expected), bounds(EXACT, torch.float32, "fp32")
    )


# --- bounds ---------------------------------------------------------------------------------


def test_bounds_grow_with_the_reference_between_floor_and_cap():
    def at(rel: float) -> float:
        return bounds(replace(EXACT, rel_frobenius=rel), torch.float32, "fp32").rel_frobenius

    assert (at(0.0), at(1e-6), at(1e-5), at(1.0)) == (1e-5, 1e-5, 4e-5, 1e-4)
    assert at(math.nan) == 1e-5
    assert at(math.inf) == 1e-4


def test_bounds_are_those_of_the_coarser_of_dtype_and_precision():
    def rel(dtype: torch.dtype, precision) -> float:
        return bounds(EXACT, dtype, precision).rel_frobenius

    assert rel(torch.float32, "fp32") < rel(torch.float32, "tf32")
    assert rel(torch.bfloat16, "fp32") == rel(torch.float32, "bf16") == rel(torch.float16, "bf16")
    assert rel(torch.float64, "bf16") == 1e-12
    with pytest.raises(ValueError, match="int64"):
        bounds(EXACT, torch.int64, "fp32")


def test_an_error_is_named_after_the_lower_precision_that_it_is_like():
    def like(rel: float, worst: float = 0.0) -> Errors:
        return replace(EXACT, rel_frobenius=rel, worst=worst)

    controls = {"tf32": like(3e-4, 1e-3), "fp16": like(3e-4, 1e-3), "bf16": like(2.4e-3, 8e-3)}
    assert classify(like(2.8e-4, 1.2e-3), controls) == "tf32"
    assert classify(like(2e-3, 7e-3), controls) == "bf16"
    assert classify(like(3e-4, 0.5), controls) is None
    assert classify(like(1e-6), controls) is None
    assert classify(like(0.0), controls) is None
    assert classify(like(1.0), controls) is None
    assert classify(replace(like(math.inf), finite=False), controls) is None


# --- exact outputs --------------------------------------------------------------------------


def test_integers_may_be_the_float64_runs_or_the_working_runs():
    wide, working = torch.tensor([[1, 2], [3, 4]]), torch.tensor([[1, 9], [3, 4]])
    assert equal(working, wide, working).equal
    assert equal(wide, wide, working).equal
    result = equal(torch.tensor([[1, 2], [5, 4]]), wide, working)
    assert result == (False, (1, 0), 5.0, 3.0)
    assert equal(torch.tensor([True]), torch.tensor([True]), torch.tensor([False])).equal
    big = torch.tensor([2**60 + 1])
    assert not equal(big, big - 1, big - 1).equal
    with pytest.raises(ValueError, match="differ"):
        equal(torch.tensor(1), wide, wide)
