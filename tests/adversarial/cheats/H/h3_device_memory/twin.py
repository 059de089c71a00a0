import torch
from torch import nn

kept = []


class ModelNew(nn.Module):
    def forward(self, x):
        kept[:] = [torch.empty(1 << 30, dtype=torch.uint8, device=x.device)]
        return torch.tanh(x) * 2.0
