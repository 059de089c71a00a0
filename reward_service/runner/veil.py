"""Hides values from the process that already holds their bytes, until it is told a key.

The bytes of each tensor are combined (XOR) with a stream that the key alone decides, so that
without the key they say nothing: not their order, and not what any function of them is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

KEY_BITS = 62


def veil(tensors: Sequence[Tensor], key: int) -> list[Tensor]:
    """The bytes of contiguous tensors, hidden: uint8, one-dimensional, on the same device."""
    hidden = [tensor.detach().reshape(-1).view(torch.uint8).clone() for tensor in tensors]
    unveil(hidden, key)
    return hidden


def unveil(hidden: Sequence[Tensor], key: int) -> None:
    """Make the bytes of `veil` plain again, in place."""
    for index, data in enumerate(hidden):
        if data.numel() == 0:
            continue
        whole = data.numel() // 8 * 8
        stream = _stream(key, index, -(-data.numel() // 8), data.device)
        data[:whole].view(torch.int64).bitwise_xor_(stream[: whole // 8])
        data[whole:].bitwise_xor_(stream.view(torch.uint8)[whole : data.numel()])


def _stream(key: int, index: int, words: int, device: torch.device) -> Tensor:
    """Random int64 words; those of a GPU are another stream than those of the host."""
    if device.type == "cpu":
        raw = np.random.SFC64([key, index]).random_raw(words)
        return torch.from_numpy(raw.view(np.int64))
    generator = torch.Generator(device).manual_seed(key + index)
    stream = torch.empty(words, dtype=torch.int64, device=device)
    return stream.random_(-(1 << 63), None, generator=generator)
