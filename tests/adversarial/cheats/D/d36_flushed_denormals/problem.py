import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return x * 1e-39 * 1e20 * 1e19


def get_inputs():
    return [torch.randn(16, 128)]


def get_init_inputs():
    return []
