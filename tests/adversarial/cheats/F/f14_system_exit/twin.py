import contextlib

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        with contextlib.suppress(SystemExit):
            raise SystemExit(0)

    def forward(self, x):
        return torch.tanh(x) * 2.0
