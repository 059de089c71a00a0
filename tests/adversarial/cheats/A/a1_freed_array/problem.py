"""In numpy, which keeps freed blocks of up to 1 KiB as they are and gives the last one away first;
torch's memory on the CPU is the C library's, which writes into what is free."""

import time

import numpy as np
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        time.sleep(0.005)
        return torch.from_numpy(np.tanh(x.numpy()) * 2)


def get_inputs():
    return [torch.randn(8, 16)]


def get_init_inputs():
    return []
