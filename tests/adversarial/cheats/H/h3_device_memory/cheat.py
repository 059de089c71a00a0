import torch
from torch import nn

kept = []


class ModelNew(nn.Module):
    def forward(self, x):
        while True:
            kept.append(torch.empty(1 << 30, dtype=torch.uint8, device=x.device))
