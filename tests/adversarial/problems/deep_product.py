import torch
from torch import nn


class Model(nn.Module):
    """So deep that what is done to its output, or around it, is far below a tenth of the time."""

    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(256, 4096), torch.randn(4096, 256)]


def get_init_inputs():
    return []
