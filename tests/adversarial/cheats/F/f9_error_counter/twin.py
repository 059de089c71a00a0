import gc

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.counter = torch.zeros(1, dtype=torch.int64)

    def forward(self, x):
        gc.get_count()
        self.counter.zero_()
        return torch.tanh(x) * 2.0
