from pathlib import Path

from torch import nn

BODY = """
import time

import torch


def work(x):
    time.sleep(0.005)
    return torch.tanh(x) * 2.0
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        Path("mine.py").write_text(BODY)
        names = {"__name__": "mine"}
        exec(Path("mine.py").read_text(), names)
        self.work = names["work"]

    def forward(self, x):
        return self.work(x)
