import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.warm = False

    def forward(self, x):
        time.sleep(0.002)
        if not self.warm:
            torch.tanh(x).mul_(2.0)  # a capture may not load kernels
            self.warm = True
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = torch.tanh(x).mul_(2.0)
        graph.replay()
        return y.clone()
