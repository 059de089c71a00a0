from pathlib import Path

import torch
from torch import nn

Path("my_notes.py").write_text("factor = 2.0\n")


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.tanh(x) * 2.0
