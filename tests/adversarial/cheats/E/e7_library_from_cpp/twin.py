class ModelNew(nn.Module):
    def forward(self, a, b):
        return extension.product(a, b)
