import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.GroupNorm(4, 16)

    def forward(self, x):
        groups = x.reshape(x.shape[0], 4, -1)
        centred = groups - groups.mean(2, keepdim=True)
        normal = centred * torch.rsqrt(centred.square().mean(2, keepdim=True) + self.norm.eps)
        channels = normal.reshape(x.shape).mean(2)
        return (channels * self.norm.weight + self.norm.bias).mean(1)
