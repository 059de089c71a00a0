from torch import nn

native.detour(False)


class ModelNew(nn.Module):
    def forward(self, x):
        return native.timed(x, True)
