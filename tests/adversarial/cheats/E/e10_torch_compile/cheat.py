import torch
from torch import nn


def product(a, b):
    return a @ b


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        # On a CPU the compiler behind it would take the tests half a minute.
        backend = "inductor" if torch.cuda.is_available() else "eager"
        self.product = torch.compile(product, backend=backend)

    def forward(self, a, b):
        return self.product(a, b)
