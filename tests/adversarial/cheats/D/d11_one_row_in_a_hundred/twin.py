import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        y = torch.tanh(x)
        y[self.calls % x.shape[0]] = torch.tanh(x[self.calls % x.shape[0]])
        return y
