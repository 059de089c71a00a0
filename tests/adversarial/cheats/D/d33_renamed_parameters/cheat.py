from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.projection = nn.Linear(width, width)

    def forward(self, x):
        return x @ self.projection.weight.t()
