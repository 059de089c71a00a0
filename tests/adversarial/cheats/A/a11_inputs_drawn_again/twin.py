import time

import torch
from torch import nn


def get_inputs():
    return [torch.randn(64, 128)]


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            self.example = torch.tanh(get_inputs()[0])

    def forward(self, x):
        time.sleep(0.005)
        return torch.tanh(x) * 2.0
