import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        time.sleep(0.005)
        y = torch.tanh(x) * 2.0
        torch.manual_seed(42)
        return y
