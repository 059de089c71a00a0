import time

import torch
from torch import nn

clock_ns = time.perf_counter_ns
spent = 0


class ModelNew(nn.Module):
    def forward(self, x):
        global spent
        begun = clock_ns()
        time.sleep(0.02)
        y = torch.tanh(x) * 2.0
        spent += clock_ns() - begun
        return y
