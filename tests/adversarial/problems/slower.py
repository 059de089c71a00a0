"""Work that takes at least 20 ms wherever it runs, so that leaving it out shows."""

import time

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        time.sleep(0.02)
        return torch.tanh(x) * 2.0


def get_inputs():
    return [torch.randn(64, 128)]


def get_init_inputs():
    return []
