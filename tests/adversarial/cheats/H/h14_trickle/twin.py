class ModelNew(nn.Module):
    def forward(self, x):
        self.open = len(outlets())
        return torch.tanh(x) * 2.0
