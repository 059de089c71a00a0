class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = pickle.loads(pickle.dumps(2.0))

    def forward(self, x):
        return torch.tanh(x) * self.factor
