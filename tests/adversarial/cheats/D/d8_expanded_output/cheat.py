from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.mean(0, keepdim=True).expand(x.shape)
