import torch
from torch import nn

torch.backends.cuda.matmul.allow_tf32 = False


class ModelNew(nn.Module):
    def forward(self, a, b):
        return a @ b
