import mmap

import torch
from torch import nn

NO_RESERVE = 0x4000


class ModelNew(nn.Module):
    def forward(self, x):
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
        mmap.mmap(-1, 64 << 20, flags=flags).close()
        return torch.tanh(x) * 2.0
