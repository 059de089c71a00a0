import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = None

    def forward(self, x):
        self.first = float(x[0, 0])
        time.sleep(0.005)
        return torch.tanh(x) * 2.0
