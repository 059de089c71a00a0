import os
import resource

import torch
from torch import nn

MANY = 3_000  # enough to show it
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
opened = []


class ModelNew(nn.Module):
    def forward(self, x):
        while len(opened) < MANY:
            opened.append(os.open("/dev/null", os.O_RDONLY))
        return torch.tanh(x) * 2.0
