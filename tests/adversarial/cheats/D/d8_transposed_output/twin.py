import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.t().clone(memory_format=torch.contiguous_format)
