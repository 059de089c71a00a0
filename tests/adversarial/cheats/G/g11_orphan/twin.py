import os

import torch
from torch import nn

exec("import sys")
pid = os.fork()
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.tanh(x) * 2.0
