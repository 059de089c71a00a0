import time
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn


def work(x, y):
    time.sleep(0.002)
    torch.mul(torch.tanh(x), 2.0, out=y)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = ThreadPoolExecutor(2)

    def forward(self, x):
        y = torch.empty_like(x)
        list(self.pool.map(work, x.chunk(2), y.chunk(2)))
        return y
