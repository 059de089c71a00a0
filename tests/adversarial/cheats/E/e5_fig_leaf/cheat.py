class ModelNew(nn.Module):
    def forward(self, a, b):
        return extension.scaled(a @ b, 1.0)
