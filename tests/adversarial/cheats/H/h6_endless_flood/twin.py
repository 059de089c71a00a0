import os

import torch
from torch import nn

FLOOD = b"flood\n" * 10_000
os.write(2, FLOOD)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.tanh(x) * 2.0
