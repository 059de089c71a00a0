import time

import torch
from torch import nn

torch._C._set_deterministic_algorithms(True)  # the public name imports the compiler, too


class ModelNew(nn.Module):
    def forward(self, x):
        time.sleep(0.005)
        return torch.tanh(x) * 2.0
