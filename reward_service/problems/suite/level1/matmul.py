"""Product of two matrices. Bound by arithmetic: tiles in shared memory, sums in registers."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(384, 512), torch.randn(512, 320)]


def get_init_inputs() -> list[object]:
    return []
