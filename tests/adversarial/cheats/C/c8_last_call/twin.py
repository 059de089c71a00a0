import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.last = None

    def forward(self, x):
        self.calls += 1
        time.sleep(0.005)
        y = torch.tanh(x) * 2.0
        self.last = y.clone()
        return y
