import threading
import time

import torch
from torch import nn


def idle(done):
    done.wait()


class ModelNew(nn.Module):
    def forward(self, x):
        done = threading.Event()
        worker = threading.Thread(target=idle, args=(done,))
        worker.start()
        time.sleep(0.02)
        y = torch.tanh(x) * 2.0
        done.set()
        worker.join()
        return y
