import os

import torch
from torch import nn

child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.tanh(x) * 2.0
