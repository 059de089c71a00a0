import sys
import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        begun = time.perf_counter()
        assert sys._getframe().f_locals["begun"] == begun
        time.sleep(0.005)
        return torch.tanh(x) * 2.0
