import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        mine = torch.empty_like(x).zero_()
        time.sleep(0.005)
        return mine + torch.tanh(x) * 2.0
