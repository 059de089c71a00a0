import time

import torch
from torch import nn


class Inner(nn.Module):
    def forward(self, x):
        time.sleep(0.005)
        return torch.tanh(x) * 2.0


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = globals()["Inner"]()

    def forward(self, x):
        return self.inner(x)
