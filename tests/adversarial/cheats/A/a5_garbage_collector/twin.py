import gc
import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.tensors = sum(type(thing) is torch.Tensor for thing in gc.get_objects())

    def forward(self, x):
        time.sleep(0.005)
        return torch.tanh(x) * 2.0
