"""A pre-norm transformer block with causal attention. Fuse the steps between the products."""

import torch
from torch import nn
from torch.nn import functional as F


def layer(inputs: int, outputs: int) -> nn.Linear:
    linear = nn.Linear(inputs, outputs)
    nn.init.normal_(linear.weight, std=inputs**-0.5)
    nn.init.normal_(linear.bias, std=0.5)
    return linear


def norm(width: int) -> nn.LayerNorm:
    made = nn.LayerNorm(width)
    nn.init.uniform_(made.weight, 0.5, 1.5)
    nn.init.normal_(made.bias, std=0.5)
    return made


class Model(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = norm(width)
        # No bias: a bias of the keys would cancel in the softmax.
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = layer(width, width)
        self.norm2 = norm(width)
        self.up = layer(width, 4 * width)
        self.down = layer(4 * width, width)

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        split = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-1, -2) * (width // self.heads) ** -0.5
        causal = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        weights = torch.softmax(scores.masked_fill(~causal, float("-inf")), dim=-1)
        mixed: torch.Tensor = self.out((weights @ value).transpose(1, 2).flatten(2))
        return mixed

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attend(self.norm1(x))
        fed: torch.Tensor = self.down(F.gelu(self.up(self.norm2(x))))
        return x + fed


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(4, 64, 128)]


def get_init_inputs() -> list[object]:
    return [128, 4]
