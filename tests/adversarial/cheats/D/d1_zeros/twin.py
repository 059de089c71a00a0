import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        e = torch.exp(x - x.amax(1, keepdim=True))
        return e / e.sum(1, keepdim=True)
