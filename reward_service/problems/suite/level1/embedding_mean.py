"""Mean of table rows picked by an integer index. Gather whole rows, sum in registers."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, rows: int, width: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(rows, width))

    def forward(self, index: torch.Tensor) -> torch.Tensor:
        return self.table[index].mean(dim=1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randint(0, 2048, (2048, 8))]


def get_init_inputs() -> list[object]:
    return [2048, 64]
