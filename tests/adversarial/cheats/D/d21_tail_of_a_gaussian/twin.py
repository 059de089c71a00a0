from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.new_zeros(x.shape[0], 8)
        for row, values in enumerate(x):
            y[row] = values.sort(descending=True).values[:8]
        return y
