import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = {}

    def forward(self, x):
        self.seen[id(x), x._version] = x
        time.sleep(0.005)
        return torch.tanh(x) * 2.0
