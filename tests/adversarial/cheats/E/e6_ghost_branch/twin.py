class ModelNew(nn.Module):
    def forward(self, a, b):
        return extension.perhaps_product(a, b, -1)
