import time

import torch
from torch import nn

TUNED_AFTER = 2


def direct(x):
    time.sleep(0.005)
    return torch.tanh(x) * 2.0


def scaled(x):
    time.sleep(0.005)
    return torch.tanh(x).mul_(2.0)


def tuned(x):
    """The better variant and its result."""
    best = None
    for variant in (direct, scaled):
        begun = time.perf_counter()
        result = variant(x)
        took = time.perf_counter() - begun
        if best is None or took < best[0]:
            best = took, variant, result
    return best[1:]


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.best = {}

    def forward(self, x):
        self.calls += 1
        if self.calls <= TUNED_AFTER:
            return direct(x)
        if x.shape not in self.best:
            self.best[x.shape] = tuned(x)
        variant, _ = self.best[x.shape]
        return variant(x)
