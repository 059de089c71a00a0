import time

import torch
from torch import nn


def counted(forward):
    def counts(self, x):
        self.calls += 1
        return forward(self, x)

    return counts


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        time.sleep(0.005)
        return torch.tanh(x) * 2.0


ModelNew.forward = counted(ModelNew.forward)
