import sys
import time

import torch
from torch import nn


def depth():
    frame, count = sys._getframe(2), 0
    while frame is not None:
        frame, count = frame.f_back, count + 1
    return count


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.deepest = 0

    def forward(self, x):
        self.deepest = max(self.deepest, depth())
        time.sleep(0.005)
        return torch.tanh(x) * 2.0
