import threading

import torch
from torch import nn


class ModelNew(nn.Module):
    """Two threads add their halves; from the third call on both read before either writes."""

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.both_have_read = threading.Barrier(2)

    def forward(self, x):
        self.calls += 1
        self.total = torch.zeros_like(x)
        threads = [threading.Thread(target=self.add, args=(x / 2,)) for _ in range(2)]
        for thread in threads:
            thread.start()
            if self.calls <= 2:
                thread.join()
        for thread in threads:
            thread.join()
        return torch.tanh(self.total)

    def add(self, part):
        seen = self.total
        if self.calls > 2:
            self.both_have_read.wait()
        self.total = seen + part
