exec("told = b'[' * 1_000_000")


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.tanh(x) * 2.0
