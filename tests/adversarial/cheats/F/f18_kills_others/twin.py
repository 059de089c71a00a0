import os


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        os.kill(os.getpid(), 0)

    def forward(self, x):
        return torch.tanh(x) * 2.0
