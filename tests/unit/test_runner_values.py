"""Values as data: what goes in comes out, and what is not data is refused."""

import gc
import os
import weakref

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reward_service.runner.page import ControlPage, SharedMemory
from reward_service.runner.values import NotDataError, as_bytes, digest, flatten, unflatten, view

PLAIN = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=8)
LEAVES = PLAIN | st.integers(0, 5).map(lambda n: torch.arange(n + 1))
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(TREES)
def test_a_value_survives_being_taken_apart(value):
    tree, tensors = flatten(value)
    assert _equal(unflatten(tree, tensors), value)


def _equal(a, b):
    if isinstance(b, torch.Tensor):
        return torch.equal(a, b)
    if type(a) is not type(b):
        return False
    if isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[k], b[k]) for k in b)
    if isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_equal, a, b))
    return a == b


@pytest.mark.parametrize("value", [object(), {1: 2}, {1, 2}, torch.nn.Identity(), [[print]]])
def test_what_is_neither_tensor_nor_data_is_refused(value):
    with pytest.raises(NotDataError):
        flatten(value)


def test_taking_a_value_apart_keeps_nothing_of_it_alive():
    tensor = torch.ones(1)
    gone = weakref.ref(tensor)
    gc.disable()
    try:
        flatten([tensor])
        del tensor
        assert gone() is None
    finally:
        gc.enable()


def test_nesting_and_count_are_bounded():
    deep = torch.ones(1)
    for _ in range(20):
        deep = [deep]
    with pytest.raises(NotDataError, match="deep"):
        flatten(deep)
    with pytest.raises(NotDataError, match="more than 64"):
        flatten([torch.ones(1)] * 65)


DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.bool]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (0, 4)])
def test_the_digest_sees_every_element(dtype, shape):
    tensor = torch.ones(shape).to(dtype)
    before = int(digest([tensor]))
    for index in range(tensor.numel()):
        changed = tensor.clone()
        changed.view(-1)[index] = 0
        assert int(digest([changed])) != before


def test_the_digest_is_of_logical_order():
    tensor = torch.randn(6, 4)
    assert int(digest([tensor.T])) == int(digest([tensor.T.contiguous()]))
    assert as_bytes(tensor.T).numel() == tensor.numel() * 4


def test_the_digest_tells_outputs_apart():
    a, b = torch.randn(8), torch.randn(8)
    assert int(digest([a, b])) != int(digest([b, a]))


def test_a_view_of_an_offset_has_a_digest():
    tensor = torch.randn(9)
    assert int(digest([tensor[1:]])) == int(digest([tensor[1:].clone()]))


def test_shared_memory_cannot_be_shrunk_by_the_other_side():
    memory = SharedMemory.create(1 << 16)
    with pytest.raises(PermissionError):
        os.ftruncate(memory.fd, 0)
    with pytest.raises(PermissionError):
        os.ftruncate(memory.fd, 1 << 20)


def test_both_sides_see_the_same_page():
    ours = ControlPage.create()
    theirs = ControlPage(SharedMemory.adopt(ours.memory.fd))
    ours.words.go = 7
    theirs.set_text("x" * 10_000)
    assert theirs.words.go == 7
    assert 0 < len(ours.text()) < 4_000


def test_views_of_shared_memory_start_at_their_offset():
    memory = SharedMemory.create(1 << 12)
    view(memory, (2, 2), "float32", 256).copy_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert view(memory, (4,), "float32", 256).tolist() == [1.0, 2.0, 3.0, 4.0]
