import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        nn.init.zeros_(self.linear.bias)
        self.transposed = [self.linear.weight.detach().t().contiguous()]

    def forward(self, x):
        return torch.addmm(self.linear.bias, x, self.transposed[0].to(x.device))
