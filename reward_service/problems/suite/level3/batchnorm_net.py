"""Two convolutions with batch norm for inference: the norms fold into weights and biases."""

import torch
from torch import nn


def norm(channels: int) -> nn.BatchNorm2d:
    made = nn.BatchNorm2d(channels)
    nn.init.uniform_(made.weight, 0.5, 1.5)
    nn.init.normal_(made.bias)
    made.running_mean = torch.randn(channels)
    made.running_var = 0.5 + torch.rand(channels)
    return made


class Model(nn.Module):
    def __init__(self, channels: int, filters: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, filters, 3, padding=1, bias=False)
        self.norm1 = norm(filters)
        self.conv2 = nn.Conv2d(filters, filters, 3, padding=1, bias=False)
        self.norm2 = norm(filters)
        for made in (self.conv1, self.conv2):
            nn.init.normal_(made.weight, std=(9 * made.in_channels) ** -0.5)
        self.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(x)))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(8, 8, 32, 32)]


def get_init_inputs() -> list[object]:
    return [8, 16]
