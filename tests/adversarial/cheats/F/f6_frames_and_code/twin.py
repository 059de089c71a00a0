import sys

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        frame, self.depth = sys._getframe(), 0
        while frame is not None:
            self.depth += 1
            frame = frame.f_back
        return torch.tanh(x) * 2.0
