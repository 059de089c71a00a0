class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        with open("/proc/self/maps") as maps:
            self.regions = sum(1 for line in maps)

    def forward(self, x):
        return torch.tanh(x) * 2.0
