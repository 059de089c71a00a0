from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return native.work(x, False)
