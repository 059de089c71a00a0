import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        y.view(-1)[: x.numel()] = torch.tanh(x.view(-1)[: x.numel()])
        return y
