"""SwiGLU of the two halves of each row: silu(gate) * up, in one pass instead of two."""

import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, up = x.chunk(2, dim=-1)
        return F.silu(gate) * up


def get_inputs() -> list[torch.Tensor]:
    return [2 * torch.randn(512, 4096)]


def get_init_inputs() -> list[object]:
    return []
