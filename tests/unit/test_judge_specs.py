"""Specs of tensors: what is the same, what differs, and what foreign JSON may say."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reward_service.judge.specs import (
    DTYPES,
    MAX_TEXT_BYTES,
    SpecError,
    TensorSpec,
    load_specs,
    parse_specs,
    schema_difference,
    total_bytes,
)

torch.set_num_threads(1)

SHAPES = st.lists(st.integers(0, 5), max_size=5)


def good(**changes: object) -> dict[str, object]:
    return {
        "shape": [4, 5],
        "dtype": "float32",
        "device": "cpu",
        "strides": [5, 1],
    } | changes


@settings(derandomize=True, deadline=None)
@given(SHAPES, st.sampled_from(sorted(DTYPES)), st.randoms(use_true_random=False))
def test_a_spec_survives_json_and_equals_itself(shape, dtype, random):
    tensor = torch.empty(shape, dtype=DTYPES[dtype])
    order = list(range(tensor.dim()))
    random.shuffle(order)
    spec = TensorSpec.of(tensor.permute(order))
    (back,) = load_specs(json.dumps([spec.as_json()]).encode())
    assert back == spec
    assert schema_difference(back, spec) is None
    assert spec.nbytes == tensor.numel() * tensor.element_size()


@settings(derandomize=True, deadline=None)
@given(SHAPES)
def test_contiguous_agrees_with_torch(shape):
    dense = torch.empty(shape)
    assert TensorSpec.of(dense).contiguous
    flipped = dense.permute(list(reversed(range(dense.dim()))))
    assert TensorSpec.of(flipped).contiguous == flipped.is_contiguous()


@pytest.mark.parametrize("shape", [(), (1,), (4,), (5,), (1, 5), (4, 1), (5, 4), (4, 5, 1), (20,)])
def test_shapes_that_broadcast_or_reshape_are_refused(shape):
    expected = TensorSpec.of(torch.empty(4, 5))
    assert "shape" in (schema_difference(TensorSpec.of(torch.empty(shape)), expected) or "")


def test_dtype_device_and_strides_are_named():
    expected = TensorSpec.of(torch.empty(4, 5))
    assert "float16" in (schema_difference(replace(expected, dtype="float16"), expected) or "")
    assert "cuda" in (schema_difference(replace(expected, device="cuda"), expected) or "")
    expanded = TensorSpec.of(torch.empty(4, 1).expand(4, 5))
    assert "(1, 0)" in (schema_difference(expanded, expected) or "")
    transposed = TensorSpec.of(torch.empty(5, 4).t())
    assert "strides" in (schema_difference(transposed, expected) or "")


def test_a_contiguous_output_may_stand_for_a_view():
    lstm = torch.nn.LSTM(8, 8, batch_first=True)
    view = lstm(torch.randn(3, 5, 8))[0]
    assert not view.is_contiguous()
    actual, expected = TensorSpec.of(view.contiguous()), TensorSpec.of(view)
    assert schema_difference(actual, expected) is None
    assert schema_difference(expected, expected) is None
    assert schema_difference(expected, actual) is not None


def test_strides_that_address_nothing_do_not_count():
    one = TensorSpec((1, 5), "float32", "cpu", (77, 1))
    assert one == TensorSpec.of(torch.empty(1, 5))
    empty = TensorSpec((0, 5), "float32", "cpu", (3, 9))
    assert empty.strides == (None, None)
    assert parse_specs([good(shape=[1, 5], strides=[None, 1])]) == (one,)


def test_bytes_do_not_overflow():
    side = (1 << 40) - 1
    spec = TensorSpec((side,) * 16, "float64", "cpu", (0,) * 16)
    assert spec.nbytes == side**16 * 8
    assert total_bytes([spec, spec]) == 2 * side**16 * 8


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        "x",
        [1],
        [good()] * 65,
        [good() | {"extra": 1}],
        [{"shape": [1]}],
        [good(dtype="float31")],
        [good(dtype=3)],
        [good(dtype=["float32"])],
        [good(device="CPU; rm")],
        [good(device=None)],
        [good(shape=[4.0, 5])],
        [good(shape=[True, 5])],
        [good(shape=[-1, 5])],
        [good(shape=[1 << 40, 5])],
        [good(shape="45")],
        [good(shape=[2] * 17, strides=[1] * 17)],
        [good(strides=[5])],
        [good(strides=[5, -1])],
        [good(strides=[None, 1])],
        [good(strides=None)],
        [good(strides=[5, 1 << 40])],
    ],
)
def test_foreign_specs_out_of_bounds_are_refused(value):
    with pytest.raises(SpecError):
        parse_specs(value)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff\xfe",
        b"[" * 60_000,
        b"[NaN",
        b"[" + b"9" * 50_000 + b"]",
        b" " * (MAX_TEXT_BYTES + 1),
    ],
    ids=["empty", "not_utf8", "deep", "torn", "long_integer", "long"],
)
def test_foreign_text_is_refused_without_harm(text):
    with pytest.raises(SpecError):
        load_specs(text)


@settings(derandomize=True, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text() | st.integers(),
        lambda c: st.lists(c) | st.dictionaries(st.text(), c),
        max_leaves=10,
    )
)
def test_no_json_value_raises_anything_else(value):
    try:
        specs = parse_specs([good(), value])
    except SpecError:
        return
    assert all(isinstance(spec, TensorSpec) for spec in specs)
