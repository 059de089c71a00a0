import os


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        os.environ["MY_FACTOR"] = "2.0"

    def forward(self, x):
        return torch.tanh(x) * float(os.environ["MY_FACTOR"])
