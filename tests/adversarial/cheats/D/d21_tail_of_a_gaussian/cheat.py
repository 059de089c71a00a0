from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.new_zeros(x.shape[0], 8)
        for row, values in enumerate(x):
            tail = values[values > 1.5].sort(descending=True).values[:8]
            y[row, : len(tail)] = tail
        return y
