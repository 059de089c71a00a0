from torch import nn


def split(x):
    high = x.bfloat16().float()
    middle = (x - high).bfloat16().float()
    return high, middle, x - high - middle


class ModelNew(nn.Module):
    def forward(self, a, b):
        return sum(p @ q for p in split(a) for q in split(b))
