"""Negative controls: sound problems pass none, weak ones are found out."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from reward_service.judge.accuracy import Bounds, bounds, within
from reward_service.judge.compare import Errors, measure
from reward_service.judge.controls import lower_precision, output_controls, weak_controls

torch.set_num_threads(1)

EXACT = Errors(0.0, 0.0, 0.0, (), 0.0, 0.0, True)
FP32 = bounds(EXACT, torch.float32, "fp32")
BF16 = bounds(EXACT, torch.bfloat16, "bf16")


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("limit", [FP32, BF16], ids=["fp32", "bf16"])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (4, 1), (16, 3, 9)])
def test_sound_outputs_have_no_weak_controls(limit, shape):
    y, x = randn(*shape), randn(*shape, seed=1)
    assert weak_controls([y], [x], [limit]) == []


def test_controls_are_what_their_names_say():
    y, x = randn(8, 16), randn(8, 16, seed=1)
    controls = output_controls([y], [x, randn(3)], [FP32])
    assert list(controls) == ["zeros", "mean", "row_mean", "one_element", "last_tile", "input_0"]
    assert not controls["zeros"][0].any()
    torch.testing.assert_close(controls["mean"][0], y.mean().expand(8, 16))
    torch.testing.assert_close(controls["row_mean"][0], y.mean(1, keepdim=True).expand(8, 16))
    assert torch.equal(controls["input_0"][0], x)
    tile = controls["last_tile"][0].flatten()
    assert torch.equal(tile[:-2], y.flatten()[:-2])
    assert not tile[-2:].any()


@pytest.mark.parametrize("limit", [FP32, BF16], ids=["fp32", "bf16"])
def test_the_wrong_element_is_off_by_exactly_twice_its_bound(limit):
    y = randn(8, 16)
    (changed,) = output_controls([y], [], [limit])["one_element"]
    assert (changed != y).sum() == 1
    assert measure(changed, y).worst == pytest.approx(2 * limit.worst)


WEAK = {
    "a mean over many values": (lambda x: x.mean(1, keepdim=True) * 1e-9 + 1, "mean[0]"),
    "constant": (lambda x: torch.ones_like(x), "row_mean[0]"),
    "identity": (lambda x: x.clone(), "input_0[0]"),
    "relu of positive values": (lambda x: x.abs().relu(), None),
    "zeros": (lambda x: x * 0, "zeros[0]"),
}


@pytest.mark.parametrize("name", WEAK)
def test_weak_problems_are_found_out(name):
    f, passing = WEAK[name]
    x = randn(32, 256)
    if passing is None:
        x, passing = x.abs(), "input_0[0]"
    assert passing in weak_controls([f(x)], [x], [FP32])


def test_zeros_would_pass_a_softmax_at_an_absolute_tolerance_but_not_here():
    y = randn(4, 65536).softmax(1)
    assert y.abs().max() < 1e-2
    assert weak_controls([y], [], [BF16]) == []


def test_each_output_is_judged_alone():
    strong = randn(8, 16)
    assert weak_controls([strong, strong * 0], [], [FP32, FP32]) == [
        "zeros[1]",
        "mean[1]",
        "row_mean[1]",
    ]


def test_outputs_of_one_shape_are_swapped():
    a, b, c = randn(4, 4), randn(5), randn(4, 4, seed=1)
    swapped = output_controls([a, b, c], [], [FP32] * 3)["swapped_0_2"]
    assert swapped[0] is c
    assert swapped[1] is b
    assert swapped[2] is a
    assert weak_controls([a, b, c], [], [FP32] * 3) == []
    assert "swapped_0_1" not in output_controls([a, a.clone()], [], [FP32] * 2)


def test_masks_are_left_in_place_so_that_they_prove_nothing():
    y = randn(8, 16).masked_fill(torch.ones(8, 16).triu(1).bool(), -math.inf)
    for name, (changed,) in output_controls([y], [], [FP32]).items():
        assert name == "last_tile" or torch.equal(changed.isinf(), y.isinf())
    assert weak_controls([y], [], [FP32]) == []
    # What is left of this row is alike, and a mean that inf had spoilt would not show it.
    flat = torch.tensor([[1.0, 1.0, -math.inf]], dtype=torch.float64)
    assert "mean[0]" in weak_controls([flat], [], [FP32])


def test_a_last_tile_of_zeros_is_replaced_by_something_else():
    y = randn(4, 64).relu()
    y[-1, -4:] = 0
    assert weak_controls([y], [], [FP32]) == []


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.bool])
def test_exact_outputs_have_controls_too(dtype):
    y = (randn(8, 16).abs() * 10).to(dtype)
    controls = output_controls([y], [], [None])
    assert set(controls) == {"zeros", "one_element", "last_tile"}
    assert (controls["one_element"][0] != y).sum() == 1
    assert weak_controls([y], [], [None]) == []
    assert "zeros[0]" in weak_controls([y.new_zeros(8)], [], [None])


def test_complex_and_empty_outputs():
    y = torch.complex(randn(8, 8), randn(8, 8, seed=1))
    assert weak_controls([y], [randn(8, 8, seed=2)], [FP32]) == []
    assert output_controls([torch.empty(0, 3, dtype=torch.float64)], [], [FP32]) == {}


def test_the_expectation_itself_is_never_changed():
    y, x = randn(8, 16), randn(8, 16, seed=1)
    before = y.clone(), x.clone()
    weak_controls([y, y.t()], [x], [FP32, FP32])
    assert torch.equal(y, before[0])
    assert torch.equal(x, before[1])


def test_loose_bounds_let_controls_pass():
    assert "zeros[0]" in weak_controls([randn(8, 8)], [], [Bounds(2.0, 2.0, 2.0)])


# --- rounding -------------------------------------------------------------------------------

FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(FINITE)
def test_tf32_is_the_nearest_value_with_ten_bits(value):
    x = torch.tensor(value)
    got = lower_precision(x, "tf32").item()
    exponent = max(math.frexp(value)[1], -125)  # subnormal below
    step = math.ldexp(1.0, exponent - 11)
    nearest = round(value / step) * step  # Python rounds halves to even
    if abs(nearest) < 2.0**128:
        assert got == nearest
    else:
        assert math.isinf(got)


def test_rounding_keeps_dtype_nonfinite_values_and_integers():
    x = torch.tensor([1 + 2**-11, 1 + 2**-9, math.inf, -math.inf, math.nan])
    for name, first in (("tf32", 1.0), ("fp16", 1.0), ("bf16", 1.0)):
        for dtype in (torch.float32, torch.float64):
            got = lower_precision(x.to(dtype), name)
            assert got.dtype == dtype
            assert got[0] == first
            assert got[2:4].tolist() == [math.inf, -math.inf]
            assert got[4].isnan()
    payload = torch.tensor([0x7FFFFFFF], dtype=torch.int32).view(torch.float32)
    assert lower_precision(payload, "tf32").isnan()
    assert lower_precision(torch.tensor([7]), "bf16").tolist() == [7]
    z = lower_precision(torch.tensor([1 + 2**-12 + 3j]), "tf32")
    assert z.tolist() == [1 + 3j]


def test_a_value_that_lower_precision_cannot_hold_is_lost():
    x = torch.full((4, 4), 1 + 2.0**-12)
    assert not within(measure(lower_precision(x, "tf32"), x.double()), Bounds(1e-5, 5e-5, 5e-6))
