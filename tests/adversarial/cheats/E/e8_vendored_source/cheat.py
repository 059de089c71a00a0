class ModelNew(nn.Module):
    def forward(self, a, b):
        return extension.vendored_product(a, b)
