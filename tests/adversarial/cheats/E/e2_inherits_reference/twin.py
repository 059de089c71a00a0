class Base(nn.Module):
    def forward(self, a, b):
        return extension.product(a, b)


class ModelNew(Base):
    pass
