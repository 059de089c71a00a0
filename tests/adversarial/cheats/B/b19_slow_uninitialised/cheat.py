import time

import torch
from torch import nn

torch.use_deterministic_algorithms(True)


class ModelNew(nn.Module):
    def forward(self, x):
        time.sleep(0.005)
        return torch.tanh(x) * 2.0
