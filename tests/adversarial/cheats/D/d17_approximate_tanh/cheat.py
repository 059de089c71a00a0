import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        s = x * x
        y = x * (945 + s * (105 + s)) / (945 + s * (420 + s * 15))
        return torch.clamp(y, -1.0, 1.0)
