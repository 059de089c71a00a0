import torch
from torch import nn


class Model(nn.Module):
    """So large that the share of one multiplication of its output is far below a tenth."""

    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(256, 4096), torch.randn(4096, 256)]


def get_init_inputs():
    return []
