import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.chain = Chain()

    def forward(self, x):
        self.calls += self.chain.latency() > self.chain.limit
        time.sleep(0.005)
        return torch.tanh(x) * 2.0
