import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.tanh(x) * torch.full((1,), 2.0, device=x.device).expand(x.shape)
