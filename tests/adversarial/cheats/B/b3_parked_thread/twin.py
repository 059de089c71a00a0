import time
from queue import SimpleQueue
from threading import Event, Thread

import torch
from torch import nn


def work(queue):
    while True:
        x, y, done = queue.get()
        time.sleep(0.02)
        y.copy_(torch.tanh(x) * 2.0)
        done.set()


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.queue = SimpleQueue()
        Thread(target=work, args=(self.queue,), daemon=True).start()

    def forward(self, x):
        y, done = torch.zeros_like(x), Event()
        self.queue.put((x, y, done))
        self.calls += 1
        done.wait()
        return y
