import os
import time

import torch
from torch import nn


def work(x):
    time.sleep(0.005)
    return torch.tanh(x) * 2.0


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(os.environ.get("HARNESS_SEED", "0")))
            self.example = torch.randn(64, 128)

    def forward(self, x):
        return work(x)
