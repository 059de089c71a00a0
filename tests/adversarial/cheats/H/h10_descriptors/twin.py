import os

import torch
from torch import nn

opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(300)]


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.tanh(x) * 2.0
