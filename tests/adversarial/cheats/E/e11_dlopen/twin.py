import ctypes

ctypes.CDLL("libm.so.6")


class ModelNew(nn.Module):
    def forward(self, a, b):
        return extension.product(a, b)
