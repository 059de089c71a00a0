import time
from pathlib import Path

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        time.sleep(0.005)
        y = torch.tanh(x) * 2.0
        torch.save((x, y), Path("mine.pt"))
        return y
