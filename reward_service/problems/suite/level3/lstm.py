"""An LSTM cell unrolled over a sequence. The steps wait for each other: fuse a step's small ops."""

import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.weight_x = nn.Parameter(torch.randn(4 * hidden, inputs) / inputs**0.5)
        self.weight_h = nn.Parameter(torch.randn(4 * hidden, hidden) / hidden**0.5)
        self.bias = nn.Parameter(torch.randn(4 * hidden))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, steps, _ = x.shape
        h = c = x.new_zeros(batch, self.weight_h.shape[1])
        outputs = []
        for step in range(steps):
            gates = F.linear(x[:, step], self.weight_x, self.bias) + F.linear(h, self.weight_h)
            i, f, g, o = gates.chunk(4, dim=1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            outputs.append(h)
        return torch.stack(outputs, dim=1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(64, 16, 64)]


def get_init_inputs() -> list[object]:
    return [64, 128]
