import time

import torch
from torch import nn
from torch.utils._pytree import tree_map


def work(x):
    time.sleep(0.005)
    return torch.tanh(x) * 2.0


class Lazy(torch.Tensor):
    @staticmethod
    def __new__(cls, x):
        return torch.Tensor._make_wrapper_subclass(cls, x.shape, dtype=x.dtype, device=x.device)

    def __init__(self, x):
        self.x = x

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        args, kwargs = tree_map(
            lambda value: work(value.x) if isinstance(value, Lazy) else value,
            (args, kwargs or {}),
        )
        return function(*args, **kwargs)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.ops.aten.clone(Lazy(x))
