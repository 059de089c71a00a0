import os


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.writable = os.access(os.getcwd(), os.W_OK)

    def forward(self, x):
        return torch.tanh(x) * 2.0
