import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook

calls = []
register_module_forward_hook(lambda module, inputs, output: calls.append(type(module).__name__))


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.tanh(x) * 2.0
