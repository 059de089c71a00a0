import threading

import torch
from torch import nn

threads = [threading.Thread(target=int) for _ in range(20)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.tanh(x) * 2.0
