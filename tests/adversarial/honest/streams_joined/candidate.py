import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.streams = [torch.cuda.Stream() for _ in range(2)]

    def forward(self, x):
        current = torch.cuda.current_stream()
        y = torch.empty(x.shape[0], device=x.device)
        for stream, rows, sums in zip(self.streams, x.chunk(2), y.chunk(2), strict=True):
            stream.wait_stream(current)
            with torch.cuda.stream(stream):
                torch.sum(rows, 1, out=sums)
        for stream in self.streams:
            current.wait_stream(stream)
        return y
