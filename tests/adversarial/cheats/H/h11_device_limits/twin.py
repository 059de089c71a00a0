import ctypes

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        value = ctypes.c_size_t()
        ctypes.CDLL("libcuda.so.1").cuCtxGetLimit(ctypes.byref(value), 0)
        return torch.tanh(x) * 2.0
