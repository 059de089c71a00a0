class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        read, write = os.pipe()
        write_to([write], framed(b"to myself"))
        self.told = os.read(read, 64)

    def forward(self, x):
        return torch.tanh(x) * 2.0
