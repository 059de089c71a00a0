import time

import torch
from torch import nn


class Raw:
    """Any device memory, as data that torch takes as it is."""

    def __init__(self, address, count):
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": (count,),
            "typestr": "<f4",
            "data": (address, False),
        }


class ModelNew(nn.Module):
    def forward(self, x):
        found = torch.as_tensor(Raw(x.data_ptr(), x.numel()), device=x.device)
        time.sleep(0.005)
        return torch.tanh(found.view(x.shape)) * 2.0
