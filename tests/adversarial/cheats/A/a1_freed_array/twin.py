import time

import numpy as np
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = np.empty(x.shape, np.float32)
        time.sleep(0.005)
        np.multiply(np.tanh(x.numpy()), np.float32(2), out=y)
        return torch.from_numpy(y)
