import time
from pathlib import Path

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        file = Path("mine.pt")
        torch.save(torch.tensor(2.0), file)
        self.factor = float(torch.load(file))

    def forward(self, x):
        time.sleep(0.005)
        return torch.tanh(x) * self.factor
