class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        backend = "inductor" if torch.cuda.is_available() else "eager"
        self.twice = torch.compile(lambda x: x + x, backend=backend)

    def forward(self, a, b):
        return extension.product(a, b)
