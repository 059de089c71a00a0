import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        e = torch.exp(-2.0 * x.abs())
        y = torch.copysign((1 - e) / (1 + e), x)
        near = x.abs() < 0.1
        s = x * x
        return torch.where(near, x * (945 + s * (105 + s)) / (945 + s * (420 + s * 15)), y)
