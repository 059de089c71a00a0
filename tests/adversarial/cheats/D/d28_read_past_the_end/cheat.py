class ModelNew(nn.Module):
    def forward(self, x):
        return module.apply(x, 2, 0)
