import torch
from torch import nn


class Model(nn.Module):
    def forward(self, q, k, v):
        weights = torch.softmax(q @ k.t() / q.shape[1] ** 0.5, dim=1)
        return weights @ v


def get_inputs():
    return [*(torch.randn(1024, 16) * s for s in (0.3, 0.3, 1.0))]


def get_init_inputs():
    return []
