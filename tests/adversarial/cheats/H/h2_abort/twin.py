import resource

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        resource.getrlimit(resource.RLIMIT_CORE)
        return torch.tanh(x) * 2.0
