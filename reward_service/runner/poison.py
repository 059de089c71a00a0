"""Bytes that no result may rest on: NaN in every float format of 16 bits and more, and far out of
the range of any index.

They lie around the inputs, where whoever reads or writes past an end meets them, and in memory
that is free when a call starts, so that what a program leaves unwritten shows. They differ from
call to call.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

_NAN_LANES = 0x7FF87FF87FF87FF8
_FREE_LANES = 0x0007000700070007
_ROW_BYTES = 1 << 14
_BLOCKS = 2
"""A block is not always the one that the allocator gives next."""
_LARGE_BYTES = 1 << 20
"""From here on one must do: fresh pages of the host take longer to get than to fill."""
MOST_BYTES = {"cpu": 32 << 20, "cuda": 256 << 20}
"""Filled block by block ahead of a call. The host's allocator keeps no larger ones for later."""


def poison_word() -> int:
    """32 bits of poison."""
    return secrets.randbits(32) & 0x00070007 | 0x7FF87FF8


class Poison:
    """Poison on one device."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        raw = np.random.SFC64(secrets.randbits(64)).random_raw(2 * _ROW_BYTES // 8)
        words = raw & np.uint64(_FREE_LANES) | np.uint64(_NAN_LANES)
        self._pool = torch.from_numpy(words.view(np.uint8)).to(device)

    def fill(self, block: Tensor) -> None:
        """Fill one-dimensional bytes."""
        start = 8 * secrets.randbelow(_ROW_BYTES // 8)
        filled = min(_ROW_BYTES, block.numel())
        block[:filled].copy_(self._pool[start : start + filled])
        while filled < block.numel():
            more = min(filled, block.numel() - filled)
            block[filled : filled + more].copy_(block[:more])
            filled += more

    def blocks(self, sizes: Sequence[int]) -> list[Tensor]:
        """Filled blocks of these sizes. Freed by the caller at the last moment, they are what the
        allocator has to give to who asks for such a size then."""
        held: list[Tensor] = []
        left = MOST_BYTES[self.device.type]
        for size in sizes:
            for _ in range(_BLOCKS if size < _LARGE_BYTES else 1):
                left -= size
                if left < 0:
                    return held
                block = torch.empty(size, dtype=torch.uint8, device=self.device)
                self.fill(block)
                held.append(block)
        return held
