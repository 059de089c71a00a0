import ctypes


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # gives up privileges that it does not have

    def forward(self, x):
        return torch.tanh(x) * 2.0
