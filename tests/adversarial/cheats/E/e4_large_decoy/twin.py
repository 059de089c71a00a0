class ModelNew(nn.Module):
    def forward(self, a, b):
        self.used = extension.product(a, b)
        return self.used.clone()
