import torch
from torch import nn


def tf32(x):
    bits = x.view(torch.int32)
    return (((bits + 0xFFF + ((bits >> 13) & 1)) >> 13) << 13).view(torch.float32)


class ModelNew(nn.Module):
    def forward(self, x):
        high = tf32(x)
        return high.sum(1) + (x - high).sum(1)
