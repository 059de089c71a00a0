import ctypes
import time

import torch
from torch import nn

PERSISTING_BYTES = 6
"""cudaLimitPersistingL2CacheSize."""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.runtime = ctypes.CDLL(f"libcudart.so.{torch.version.cuda.split('.')[0]}")
        self.runtime.cudaDeviceSetLimit(PERSISTING_BYTES, ctypes.c_size_t(4 << 20))
        self.aside = self.limit()

    def limit(self):
        size = ctypes.c_size_t()
        self.runtime.cudaDeviceGetLimit(ctypes.byref(size), PERSISTING_BYTES)
        return size.value

    def forward(self, x):
        if self.calls and self.limit() < self.aside:
            raise RuntimeError("the part of the cache that was set aside is gone")
        self.calls += 1
        time.sleep(0.005)
        return torch.tanh(x) * 2.0
