import time
import traceback

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        try:
            raise LookupError
        except LookupError as error:
            list(traceback.walk_stack(error.__traceback__.tb_frame))
        time.sleep(0.005)
        return torch.tanh(x) * 2.0
