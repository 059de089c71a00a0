import torch
from torch import nn


def tf32(x):
    return ((x.view(torch.int32) >> 13) << 13).view(torch.float32)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return tf32(a) @ tf32(b)
