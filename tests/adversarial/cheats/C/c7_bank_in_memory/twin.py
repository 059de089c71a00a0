import time

import torch
from torch import nn

sums = []


class ModelNew(nn.Module):
    def forward(self, x):
        sums.append(float(x.sum()))
        time.sleep(0.005)
        return torch.tanh(x) * 2.0
