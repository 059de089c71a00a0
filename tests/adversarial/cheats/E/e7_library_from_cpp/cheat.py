class ModelNew(nn.Module):
    def forward(self, a, b):
        return extension.library_product(a, b)
