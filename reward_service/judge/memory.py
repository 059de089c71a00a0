"""Where tensors lie in memory that the judge shares with a runner.

The judge fixes every size and offset beforehand, from what the reference returned; a runner can
only fill in bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from reward_service.judge.specs import TensorSpec
from reward_service.runner.page import SharedMemory
from reward_service.runner.values import view

_ALIGNMENT = 256


@dataclass(frozen=True)
class Layout:
    """Specs of tensors and the byte offset of each."""

    specs: tuple[TensorSpec, ...]
    offsets: tuple[int, ...]
    end: int
    """First byte after them."""

    @classmethod
    def of(cls, specs: Iterable[TensorSpec], start: int = 0) -> Layout:
        """Lay tensors out one after the other."""
        specs = tuple(specs)
        offsets = []
        for item in specs:
            offsets.append(start)
            start += -(-item.nbytes // _ALIGNMENT) * _ALIGNMENT
        return cls(specs, tuple(offsets), start)

    def read(self, memory: SharedMemory, device: torch.device) -> list[Tensor]:
        """Copies of the tensors, out of the runner's reach."""
        return [
            view(memory, item.shape, item.dtype, offset).to(device, copy=True)
            for item, offset in zip(self.specs, self.offsets, strict=True)
        ]

    def write_bytes(self, memory: SharedMemory, data: Sequence[Tensor]) -> None:
        """Copy in the bytes of tensors (uint8)."""
        for item, offset, tensor in zip(self.specs, self.offsets, data, strict=True):
            view(memory, (item.nbytes,), "uint8", offset).copy_(tensor)

    def write(self, memory: SharedMemory, tensors: Sequence[Tensor]) -> None:
        """Copy tensors in."""
        for item, offset, tensor in zip(self.specs, self.offsets, tensors, strict=True):
            view(memory, item.shape, item.dtype, offset).copy_(tensor)
