"""Memory for the inputs of calls, between guard bands of poison.

A read past an end gets NaN, and a write there is noticed. Inputs start where torch's own allocator
could have put them, at another place in each arena.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.dlpack import from_dlpack

from reward_service.runner.poison import Poison
from reward_service.runner.values import byte_count, digest

BAND_BYTES = 1 << 14
"""What a block of 1024 threads writes that runs over by one float4 each. A copy of so many bytes is
also still done by one thread."""
_ALIGNMENT = {"cpu": 64, "cuda": 512}
_SHIFTS = 16


class Arena:
    """New storage for tensors of the given specs."""

    def __init__(self, specs: Sequence[dict[str, Any]], poison: Poison) -> None:
        alignment = _ALIGNMENT[poison.device.type]
        sizes = [byte_count(item["shape"], item["dtype"]) for item in specs]
        rooms = [-(-size // alignment) * alignment for size in sizes]
        end = sum(rooms) + (len(rooms) + 1) * BAND_BYTES + _SHIFTS * alignment
        whole = torch.empty(end, dtype=torch.uint8, device=poison.device)
        self.raw: list[Tensor] = []
        """The bytes of each tensor; writing them leaves the tensor's version counter alone."""
        self.tensors: list[Tensor] = []
        bands = []
        start = 0
        stop = BAND_BYTES + alignment * secrets.randbelow(_SHIFTS)
        for item, size, room in zip(specs, sizes, rooms, strict=True):
            bands.append(whole[start:stop])
            data = whole[stop : stop + size]
            start, stop = stop + size, stop + room + BAND_BYTES
            self.raw.append(data)
            self.tensors.append(_plain(data, item["shape"], item["dtype"]))
        bands.append(whole[start:stop])
        for band in bands:
            poison.fill(band)
        self._bands = bands
        self._sum = int(digest(bands))

    def intact(self) -> bool:
        """Whether nobody wrote into a guard band."""
        return int(digest(self._bands)) == self._sum


def _plain(data: Tensor, shape: Sequence[int], dtype: str) -> Tensor:
    """The same bytes as a tensor that looks newly made: a storage that holds them and no more, a
    version counter of its own, and no base. Tensors in one storage would be compiled as views."""
    alone = from_dlpack(data)
    return alone.view(getattr(torch, dtype)).view(tuple(shape)).data
