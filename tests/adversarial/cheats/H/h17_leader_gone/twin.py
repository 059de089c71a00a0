import os

import torch
from torch import nn

first = os.fork()
if first == 0:
    os._exit(0)
os.waitpid(first, 0)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.tanh(x) * 2.0
