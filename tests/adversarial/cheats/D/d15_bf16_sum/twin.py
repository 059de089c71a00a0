from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        high = x.bfloat16().float()
        return high.sum(1) + (x - high).sum(1)
