import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def forward(self, x):
        self.events[0].record()
        time.sleep(0.02)
        y = torch.tanh(x) * 2.0
        self.events[1].record()
        return y
