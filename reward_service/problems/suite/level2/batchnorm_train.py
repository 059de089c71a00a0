"""Batch norm in training mode, then ReLU: it also moves the running statistics, which count."""

import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(channels) + 0.5)
        self.bias = nn.Parameter(torch.randn(channels))
        self.running_mean: torch.Tensor
        self.running_var: torch.Tensor
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # Batch statistics whatever mode the module is in; momentum 0.1, unbiased running variance.
        normed = F.batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, training=True
        )
        return torch.relu(normed)


def get_inputs() -> list[torch.Tensor]:
    channels = 64
    scale = 1 + 2 * torch.rand(channels, 1, 1)
    return [torch.randn(32, channels, 16, 16) * scale + torch.randn(channels, 1, 1)]


def get_init_inputs() -> list[object]:
    return [64]
