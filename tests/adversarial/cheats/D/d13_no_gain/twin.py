import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(128)

    def forward(self, x):
        y = nn.functional.layer_norm(x, (128,))
        return torch.addcmul(self.norm.bias, y, self.norm.weight)
