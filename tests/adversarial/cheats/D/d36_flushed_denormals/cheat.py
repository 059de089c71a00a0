import torch
from torch import nn

torch.set_flush_denormal(True)


class ModelNew(nn.Module):
    def forward(self, x):
        return x * 1e-39 * 1e20 * 1e19
