"""A convolutional classifier. Bias, ReLU and pooling ride on each convolution's output."""

import torch
from torch import nn
from torch.nn import functional as F


def conv(channels: int, filters: int) -> nn.Conv2d:
    made = nn.Conv2d(channels, filters, 3, padding=1)
    nn.init.normal_(made.weight, std=(9 * channels) ** -0.5)
    made.bias = nn.Parameter(torch.randn(filters))
    return made


class Model(nn.Module):
    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        self.conv1 = conv(channels, 16)
        self.conv2 = conv(16, 32)
        self.head = nn.Linear(32 * 8 * 8, classes)
        nn.init.normal_(self.head.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = F.max_pool2d(torch.relu(self.conv2(x)), 2)
        out: torch.Tensor = self.head(x.flatten(1))
        return out


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(16, 3, 32, 32)]


def get_init_inputs() -> list[object]:
    return [3, 10]
