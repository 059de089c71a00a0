from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        nn.init.zeros_(self.linear.bias)

    def forward(self, x):
        return x @ self.linear.weight.t() + self.linear.bias
