"""Exact (erf) GELU. Memory-bound on a GPU: wide loads, erff in registers."""

import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(1024, 1024)]


def get_init_inputs() -> list[object]:
    return []
