import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = set()

    def forward(self, x):
        self.seen.add(tuple(x.flatten()[:: x.numel() // 8].tolist()))
        time.sleep(0.005)
        return torch.tanh(x) * 2.0
