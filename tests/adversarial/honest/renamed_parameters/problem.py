import torch
from torch import nn


class Model(nn.Module):
    """Norms start as gains of 1 and biases of 0, which only names can tell apart."""

    def __init__(self, width):
        super().__init__()
        self.first = nn.BatchNorm1d(width)
        self.linear = nn.Linear(width, width)
        self.second = nn.LayerNorm(width)

    def forward(self, x):
        return self.second(self.linear(self.first(x)))


def get_inputs():
    return [torch.randn(64, 128)]


def get_init_inputs():
    return [128]
