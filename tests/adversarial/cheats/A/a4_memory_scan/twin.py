import ctypes
import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        size = x.numel() * x.element_size()
        memory = ctypes.string_at(x.data_ptr(), size)
        found = torch.frombuffer(bytearray(memory), dtype=x.dtype).view(x.shape)
        time.sleep(0.005)
        return torch.tanh(found) * 2.0
