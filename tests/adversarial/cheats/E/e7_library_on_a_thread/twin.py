class ModelNew(nn.Module):
    def forward(self, a, b):
        return extension.on_a_thread(a, b, False)
