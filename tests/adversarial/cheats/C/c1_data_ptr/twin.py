import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = set()

    def forward(self, x):
        self.seen.add(x.data_ptr())
        time.sleep(0.005)
        return torch.tanh(x) * 2.0
