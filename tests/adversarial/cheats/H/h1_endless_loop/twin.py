import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.tanh(x) * (2.0 + sum(iter([0, 0, 1].pop, 0)) - 1)
