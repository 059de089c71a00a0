"""Memory around and under calls: every stray write shows, and nothing left over looks right."""

import ctypes

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reward_service.judge.specs import DTYPES as NAMES
from reward_service.runner.arena import BAND_BYTES, Arena
from reward_service.runner.poison import MOST_BYTES, Poison, poison_word
from reward_service.runner.values import spec

CPU = torch.device("cpu")
POISON = Poison(CPU)
TENSORS = [torch.ones(3, 5), torch.ones(7, dtype=torch.int8), torch.ones((), dtype=torch.float64)]
DTYPES = list(NAMES.values())
SPECS = [spec(tensor) for tensor in TENSORS]


@pytest.mark.parametrize("index", range(len(TENSORS)))
@pytest.mark.parametrize("after", [True, False])
@settings(deadline=None, max_examples=30)
@given(distance=st.integers(0, BAND_BYTES - 1), change=st.integers(1, 255))
def test_a_stray_write_on_either_side_of_an_input_is_noticed(index, after, distance, change):
    arena = Arena(SPECS, POISON)
    tensor = arena.tensors[index]
    size = tensor.numel() * tensor.element_size()
    place = ctypes.c_ubyte.from_address(
        tensor.data_ptr() + (size + distance if after else -1 - distance)
    )
    assert arena.intact()
    place.value ^= change
    assert not arena.intact()


def test_writing_the_inputs_themselves_is_no_stray_write():
    arena = Arena(SPECS, POISON)
    for tensor in arena.tensors:
        tensor.fill_(1)
    assert arena.intact()
    assert [spec(tensor) for tensor in arena.tensors] == SPECS


def test_new_values_come_without_a_new_version():
    arena = Arena(SPECS, POISON)
    for raw, tensor in zip(arena.raw, TENSORS, strict=True):
        raw.copy_(tensor.reshape(-1).view(torch.uint8))
    assert all(map(torch.equal, arena.tensors, TENSORS))
    assert [tensor._version for tensor in arena.tensors] == [0] * len(TENSORS)


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_input_looks_like_a_new_tensor(dtype):
    specs = [spec(torch.zeros(shape, dtype=dtype)) for shape in ((), (3, 5), (0, 2))]
    for tensor in Arena(specs, POISON).tensors:
        assert tensor._base is None
        assert tensor.storage_offset() == 0
        assert tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
        assert tensor.is_contiguous()
        assert not tensor.requires_grad


def test_inputs_start_where_the_allocator_could_have_put_them_and_not_always_there():
    arenas = [Arena(SPECS, POISON) for _ in range(30)]
    starts = [tensor.data_ptr() for arena in arenas for tensor in arena.tensors]
    assert all(start % 64 == 0 for start in starts)
    assert len({arena.tensors[0].data_ptr() % 1024 for arena in arenas}) > 1


FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [8, 1 << 10, (1 << 16) + 24, 1 << 18])
def test_poison_is_nan_whatever_reads_it(dtype, size):
    block = torch.zeros(size, dtype=torch.uint8)
    POISON.fill(block)
    assert block.view(dtype).isnan().all()


@pytest.mark.parametrize("dtype", [torch.int16, torch.int32, torch.int64])
def test_poison_is_no_index(dtype):
    block = torch.zeros(1 << 16, dtype=torch.uint8)
    POISON.fill(block)
    assert (block.view(dtype) > 32_000).all()
    assert dtype is torch.int16 or (block.view(dtype) > 1 << 30).all()


def test_poison_is_never_the_same():
    blocks = torch.zeros(2, 1 << 12, dtype=torch.uint8)
    for block in blocks:
        POISON.fill(block)
    assert not torch.equal(*blocks)
    assert len({poison_word() for _ in range(20)}) > 1
    words = torch.tensor([poison_word() for _ in range(20)], dtype=torch.int64).to(torch.int32)
    assert words.view(torch.float32).isnan().all()
    assert words.view(torch.bfloat16).isnan().all()


def test_memory_that_is_given_next_holds_poison():
    size = 1 << 16
    poisoned = 0
    for _ in range(50):
        torch.empty(size, dtype=torch.uint8).zero_()
        POISON.blocks([size]).clear()
        poisoned += bool(torch.empty(size, dtype=torch.uint8).view(torch.float32).isnan().any())
    assert poisoned >= 5  # the allocator has others to give, too


def test_the_memory_that_poisoning_takes_is_bounded():
    most = MOST_BYTES["cpu"]
    blocks = POISON.blocks([most // 8] * 20)
    assert most / 2 < sum(block.numel() for block in blocks) <= most
