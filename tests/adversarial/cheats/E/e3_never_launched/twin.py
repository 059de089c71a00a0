class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = extension.product

    def forward(self, a, b):
        return self.kernel(a, b)
