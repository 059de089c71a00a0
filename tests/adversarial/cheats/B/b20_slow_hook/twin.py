import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.register_forward_pre_hook(self.count)

    def count(self, module, inputs):
        self.calls += 1

    def forward(self, x):
        time.sleep(0.005)
        return torch.tanh(x) * 2.0
