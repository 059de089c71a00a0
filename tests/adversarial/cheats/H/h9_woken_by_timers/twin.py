import os

from torch import nn

page = os.memfd_create("busy")
os.ftruncate(page, 1)


class ModelNew(nn.Module):
    def forward(self, a, b):
        os.pwrite(page, b"\1", 0)
        y = a @ b
        os.pwrite(page, b"\0", 0)
        return y
