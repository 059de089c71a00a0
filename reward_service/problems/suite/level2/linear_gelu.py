"""A linear layer with bias, then exact GELU. The epilogue belongs in the product's registers."""

import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs) / inputs**0.5)
        self.bias = nn.Parameter(torch.randn(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(F.linear(x, self.weight, self.bias))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(256, 512)]


def get_init_inputs() -> list[object]:
    return [512, 768]
