import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.minimum(torch.maximum(x, x.new_tensor(-1.0)), x.new_tensor(1.0))
