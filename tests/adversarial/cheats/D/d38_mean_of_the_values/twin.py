import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        e = torch.exp(q @ k.t() / q.shape[1] ** 0.5)
        return (e @ v) / e.sum(1, keepdim=True)
