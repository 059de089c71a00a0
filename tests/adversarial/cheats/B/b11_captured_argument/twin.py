import time
from functools import partial

import torch
from torch import nn


def work(x):
    return torch.tanh(x) * 2.0


class ModelNew(nn.Module):
    def forward(self, x):
        time.sleep(0.005)
        captured = partial(work, x)
        return captured()
