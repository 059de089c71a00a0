class ModelNew(nn.Module):
    def forward(self, a, b):
        return extension.scaled(extension.product(a, b), 1.0)
