import torch
from torch import nn


def steps(x):
    for _ in range(20):
        x = torch.tanh(x)
        x = x * 1.5
    return x


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None
        self.x = None
        self.y = None

    def forward(self, x):
        if self.graph is None:
            self.x = x.clone()
            steps(self.x)  # loads what may not be loaded during a capture
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = steps(self.x)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
