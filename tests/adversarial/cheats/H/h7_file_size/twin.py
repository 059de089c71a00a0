import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        with open("small", "wb") as file:
            file.truncate(16 << 20)
        return torch.tanh(x) * 2.0
