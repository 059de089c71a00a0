import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return 1.0 / (1.0 + torch.exp(-1000.0 * x))
