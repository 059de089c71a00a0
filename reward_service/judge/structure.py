"""Whether a tensor of floats looks like independent draws of one distribution.

A structured input (sorted, normalised rows, symmetric, smooth, repeated, scaled by channel) means
something that values of our own would break, so every test here errs on the side of structure.
The tests are on ranks, and so hold for any distribution: for each dimension, the means of ranks
and of their squares by slice must scatter as those of independent draws do, and ranks must not
correlate along it or across a pair of equal dimensions. Sums and sums of squares of slices must
scatter at all, which finds normalised ones. About one independent tensor in a thousand is taken
for a structured one.

A block of at most 2^17 elements is looked at for each dimension; sums are over whole slices.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

_BLOCK = 1 << 17
_MAX_Z = 6.0
_RANK_STD = math.sqrt(1 / 12)
_SQUARE_STD = math.sqrt(1 / 80 - 1 / 144)


def sample(x: Tensor, limit: int) -> Tensor:
    """At most `limit` elements, evenly spread over the flattened tensor."""
    flat = x.reshape(-1)
    # An odd step does not stay in one column.
    return flat if flat.numel() <= limit else flat[:: math.ceil(flat.numel() / limit) | 1]


def looks_discrete(x: Tensor) -> bool:
    """Whether values are whole numbers or few: masks, one-hots, classes, clipped or padded."""
    values = sample(x, 4096)
    if bool((values == values.round()).all()):
        return True
    # torch's own uniform draws have 2^11 values in float16 and 2^8 in bfloat16.
    share, plenty = {torch.float16: (0.4, 512), torch.bfloat16: (0.4, 128)}.get(
        x.dtype, (0.9, 1 << 12)
    )
    ordered = values.sort().values
    distinct = 1 + int((ordered[1:] != ordered[:-1]).sum())
    return distinct < min(share * values.numel(), plenty)


def looks_structured(x: Tensor) -> bool:
    """Whether the order of the values of a finite tensor of floats carries meaning."""
    return any(
        _uneven(block[:, :_BLOCK]) or _normalised(block)
        for dim in range(x.dim())
        if x.shape[dim] > 1
        for block in [_block(x, dim)]
    ) or any(
        x.shape[i] == x.shape[j] > 1 and _mirrored(x, i, j)
        for i in range(x.dim())
        for j in range(i + 1, x.dim())
    )


def correlated(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors with as many elements, or their magnitudes, go together."""
    a, b = _ranks(sample(x, _BLOCK)), _ranks(sample(y, _BLOCK))
    far_a, far_b = _ranks(a.abs()), _ranks(b.abs())
    return any(_correlation(i, j) for i in (a, far_a) for j in (b, far_b))


def same_distribution(x: Tensor, y: Tensor) -> bool:
    """Whether two samples could be of one distribution (Kolmogorov-Smirnov, at 7e-6)."""
    a, b = sample(x, 1 << 14).double().sort().values, sample(y, 1 << 14).double().sort().values
    both = torch.cat([a, b])
    gap = torch.searchsorted(a, both, right=True) / len(a) - torch.searchsorted(
        b, both, right=True
    ) / len(b)
    return gap.abs().max().item() <= 2.5 * math.sqrt(1 / len(a) + 1 / len(b))


def _block(x: Tensor, dim: int) -> Tensor:
    """The start of the other dimensions, as [rows, size of `dim`], in about `_BLOCK` elements."""
    part = x.movedim(dim, -1)
    for d in range(part.dim() - 1):
        excess = part.numel() / _BLOCK
        if excess > 1:
            part = part.narrow(d, 0, max(1, int(part.shape[d] / excess)))
    return part.reshape(-1, part.shape[-1]).double()


def _ranks(x: Tensor) -> Tensor:
    """Ranks of the elements, evenly over -1/2 to 1/2; ties in order of appearance."""
    ranks = torch.empty(x.numel(), dtype=torch.float64)
    ranks[x.flatten().argsort(stable=True)] = torch.arange(x.numel(), dtype=torch.float64)
    return ((ranks + 0.5) / x.numel() - 0.5).view(x.shape)


def _uneven(block: Tensor) -> bool:
    ranks = _ranks(block)
    size = block.shape[1]
    for values, std in ((ranks, _RANK_STD), (ranks.square() - 1 / 12, _SQUARE_STD)):
        for over in (0, 1):
            z = values.mean(over) / (std / math.sqrt(values.shape[over]))
            many = 1 + 8 * math.sqrt(2 / z.numel())
            if z.abs().max().item() > _MAX_Z or z.square().mean().item() > many:
                return True
    lags = {1, 2, 3, size // 4, size // 3, size // 2} - {0}
    return any(_correlation(ranks[:, :-lag], ranks[:, lag:]) for lag in lags if lag < size)


def _normalised(block: Tensor) -> bool:
    rows, size = block.shape
    if rows == 1:
        return abs(block.sum().item() - 1) < 1e-3 or abs(block.norm().item() - 1) < 1e-3
    # Few rows can have nearly equal sums by chance.
    least = 0.1 if rows >= 8 else 1e-3
    return any(
        values.sum(1).std().item() < least * values.std().item() * math.sqrt(size)
        for values in (block, block.square())
    )


def _mirrored(x: Tensor, i: int, j: int) -> bool:
    part = x.movedim((i, j), (-2, -1)).flatten(0, -3) if x.dim() > 2 else x.unsqueeze(0)
    side = min(part.shape[-1], math.isqrt(_BLOCK))
    part = part[: max(1, _BLOCK // side**2), :side, :side]
    ranks = _ranks(part)
    off = ~torch.eye(side, dtype=torch.bool).expand_as(ranks)
    return _correlation(ranks[off], ranks.mT[off])


def _correlation(a: Tensor, b: Tensor) -> bool:
    z = (a * b).mean().item() / _RANK_STD**2 * math.sqrt(a.numel())
    return abs(z) > _MAX_Z
