import threading

import torch
from torch import nn

MANY = 1_000  # enough to show it
never = threading.Event()
for _ in range(MANY):
    threading.Thread(target=never.wait, daemon=True).start()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.tanh(x) * 2.0
