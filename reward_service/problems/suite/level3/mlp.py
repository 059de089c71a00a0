"""A perceptron of three layers. Fuse each bias and GELU into the product before it."""

import torch
from torch import nn
from torch.nn import functional as F


def layer(inputs: int, outputs: int) -> nn.Linear:
    linear = nn.Linear(inputs, outputs)
    nn.init.normal_(linear.weight, std=inputs**-0.5)
    nn.init.normal_(linear.bias)
    return linear


class Model(nn.Module):
    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.first = layer(inputs, hidden)
        self.second = layer(hidden, hidden)
        self.third = layer(hidden, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.gelu(self.first(x))
        x = F.gelu(self.second(x))
        out: torch.Tensor = self.third(x)
        return out


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(128, 256)]


def get_init_inputs() -> list[object]:
    return [256, 512, 64]
