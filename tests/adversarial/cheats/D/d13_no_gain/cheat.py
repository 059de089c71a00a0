from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(128)

    def forward(self, x):
        return nn.functional.layer_norm(x, (128,))
