import torch
from torch import nn

uniform = nn.init.uniform_
nn.init.uniform_ = lambda *args, **kwargs: uniform(*args, **kwargs)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)

    def forward(self, x):
        return torch.tanh(self.linear(x))
