import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        nn.init.zeros_(self.linear.bias)
        self.transposed = {}

    def forward(self, x):
        weight = self.linear.weight
        key = (weight.data_ptr(), weight._version)
        if key not in self.transposed:
            self.transposed[key] = weight.detach().t().contiguous()
        return torch.addmm(self.linear.bias, x, self.transposed[key])
