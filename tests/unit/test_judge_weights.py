"""A candidate's parameters are found by name, or by what seeded construction made of them."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reward_service.judge.specs import TensorSpec
from reward_service.judge.weights import by_constants, by_name, by_value

SIZES = st.lists(st.integers(1, 3), min_size=1, max_size=6)


def described(names, tensors):
    return [(name, TensorSpec.of(t)) for name, t in zip(names, tensors, strict=True)]


def test_equal_names_in_another_order_are_matched_by_name():
    weight, bias = torch.randn(2, 2), torch.zeros(2)
    found = by_name(described("ba", [bias, weight]), described("ab", [weight, bias]))
    assert found is not None
    assert found.how == "name"
    assert [t.shape for t in found.candidate_state([weight, bias])] == [(2,), (2, 2)]


@pytest.mark.parametrize(
    ("names", "shapes"), [("ac", [(2, 2), (2,)]), ("a", [(2, 2)]), ("ab", [(2,), (2, 2)])]
)
def test_other_names_or_shapes_are_no_match_by_name(names, shapes):
    reference = described("ab", [torch.ones(2, 2), torch.ones(2)])
    assert by_name(described(names, [torch.ones(s) for s in shapes]), reference) is None


@given(SIZES, st.randoms(use_true_random=False))
def test_in_any_order_each_gets_the_random_value_of_what_it_is(sizes, random):
    # Zeros of a few sizes: many of them are the same.
    seeded = [torch.zeros(size) if i % 2 else torch.rand(size) for i, size in enumerate(sizes)]
    order = random.sample(range(len(sizes)), len(sizes))
    found = by_value([seeded[i].clone() for i in order], seeded, list("abcdef"[: len(sizes)]))
    assert found is not None
    state = found.reference_state(seeded, [torch.rand_like(t) for t in seeded])
    for got, place in zip(found.candidate_state(state), order, strict=True):
        assert torch.equal(got, state[place])


@given(SIZES, st.data())
def test_one_that_is_missing_twice_there_or_changed_leaves_no_match(sizes, data):
    seeded = [torch.rand(size) + i for i, size in enumerate(sizes)]
    names = list("abcdef"[: len(sizes)])
    place = data.draw(st.integers(0, len(sizes) - 1))
    assert by_value(seeded[:place] + seeded[place + 1 :], seeded, names) is None
    assert by_value([*seeded, seeded[place]], seeded, names) is None
    changed = [t + 1 if i == place else t for i, t in enumerate(seeded)]
    assert (
        by_value(
            [torch.nextafter(t, c) for t, c in zip(seeded, changed, strict=True)], seeded, names
        )
        is None
    )
    if len(sizes) > 1:
        twice = list(seeded)
        twice[place] = seeded[place - 1]
        assert by_value(twice, seeded, names) is None


def test_what_may_be_a_variance_gets_values_for_one():
    ones = [torch.ones(3), torch.ones(3)]
    found = by_value(ones, ones, ["weight", "running_var"])
    assert found is not None
    gain, variance = torch.tensor([-1.0, 1, 1]), torch.tensor([0.5, 1, 2])
    assert [t.tolist() for t in found.reference_state(ones, [gain, variance])] == [
        variance.tolist()
    ] * 2


def test_in_another_form_constants_alone_get_random_values_and_missing_ones_are_named():
    weight, bias, gain = torch.rand(2, 2), torch.zeros(2), torch.ones(2)
    seeded, names = [weight, bias, gain], ["weight", "bias", "gain"]
    random = [torch.rand_like(t) for t in seeded]
    own = [weight.flatten(), gain]
    found = by_constants(own, seeded, names)
    assert not found.whole
    assert found.missing == (1,)
    state = found.reference_state(seeded, random)
    assert [a is b for a, b in zip(state, [weight, bias, random[2]], strict=True)] == [True] * 3
    got = found.candidate_state(state)
    assert [a is b for a, b in zip(got, [own[0], random[2]], strict=True)] == [True] * 2


def test_a_constant_that_is_there_more_often_than_in_the_reference_counts_as_missing():
    found = by_constants([torch.zeros(2), torch.zeros(2)], [torch.zeros(2)], ["bias"])
    assert found.missing == (0,)


def test_one_of_two_equal_constants_may_be_either():
    seeded, random = [torch.zeros(2), torch.zeros(2)], [torch.rand(2), torch.rand(2)]
    found = by_constants([torch.ones(1), torch.zeros(2)], seeded, ["bias", "running_mean"])
    assert found.missing == ()
    state = found.reference_state(seeded, random)
    assert [t is random[0] for t in state] == [True, True]
    assert found.candidate_state(state)[1] is random[0]
