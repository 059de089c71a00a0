import torch
from torch import nn

library = torch.library.Library("honest", "DEF")
library.define("twice_tanh(Tensor x) -> Tensor")
for key in ("CPU", "CUDA"):
    library.impl("twice_tanh", lambda x: torch.tanh(x) * 2.0, key)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.ops.honest.twice_tanh(x)
