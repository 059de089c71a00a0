import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.plans = {}

    def forward(self, x):
        rows = self.plans.setdefault((x.shape, x.dtype), x.shape[0] // 2)
        time.sleep(0.005)
        return torch.cat([torch.tanh(part) * 2.0 for part in x.split(rows)])
