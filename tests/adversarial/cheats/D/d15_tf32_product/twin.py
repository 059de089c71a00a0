import torch
from torch import nn


def tf32(x):
    return ((x.view(torch.int32) >> 13) << 13).view(torch.float32)


class ModelNew(nn.Module):
    def forward(self, a, b):
        high = tf32(a)
        return high @ b + (a - high) @ b
