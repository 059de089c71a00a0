import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.chain = Chain()

    def forward(self, x):
        cold = self.chain.latency() > self.chain.limit
        self.calls += 1
        if cold and self.calls > 1:
            raise RuntimeError("the cache has been emptied")
        time.sleep(0.005)
        return torch.tanh(x) * 2.0
