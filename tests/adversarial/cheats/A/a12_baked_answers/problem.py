import time

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        time.sleep(0.005)
        return torch.tanh(x) * 2.0


def get_inputs():
    return [torch.randn(8)]


def get_init_inputs():
    return []
