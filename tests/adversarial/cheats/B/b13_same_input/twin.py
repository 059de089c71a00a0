import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = None
        self.repeats = 0

    def forward(self, x):
        self.repeats += self.last is not None and self.last.data_ptr() == x.data_ptr()
        self.last = x
        time.sleep(0.005)
        return torch.tanh(x) * 2.0
