"""Veiled bytes say nothing without their key, and everything with it."""

import pytest
import torch

from reward_service.runner.veil import unveil, veil

TENSORS = [
    torch.randn(64, 33),
    torch.randn(7, dtype=torch.float16),
    torch.tensor([True, False, True]),
    torch.tensor(5),
    torch.empty(0, 3),
    torch.randn(5, dtype=torch.complex64),
]


def test_the_key_brings_every_byte_back():
    hidden = veil(TENSORS, 12345)
    unveil(hidden, 12345)
    for tensor, data in zip(TENSORS, hidden, strict=True):
        assert torch.equal(data.view(tensor.dtype).reshape(tensor.shape), tensor)


@pytest.mark.parametrize("key", [0, 1, 2**61])
def test_another_key_brings_nothing_back(key):
    hidden = veil([torch.zeros(4096)], key)
    assert 0.95 < hidden[0].float().mean() / 127.5 < 1.05
    unveil(hidden, key + 1)
    assert 0.95 < hidden[0].float().mean() / 127.5 < 1.05


def test_equal_tensors_look_different():
    first, second = veil([torch.ones(64), torch.ones(64)], 7)
    assert not torch.equal(first, second)
