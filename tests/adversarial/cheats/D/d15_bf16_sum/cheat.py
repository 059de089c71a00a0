from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.bfloat16().float().sum(1)
