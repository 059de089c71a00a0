"""Fresh values for an input, in its domain: what the trials and timed calls run on.

    as_drawn  the input's own mean, spread and shape (normal, uniform, else its own values
              resampled and jittered by 5 %)
    heavy     as many large and small values as a Laplace (signed), lognormal (nonnegative) or
              fourth-power (unit) distribution has
    scaled    rows of scales spread over a factor of 16
    shifted   moved by 0.5 to 1.5 standard deviations (more would refuse honest one-pass variances)
    spiked    8 to 64 values of 8 times the scale hidden at random places
    small     a sixteenth of the scale
    fine      each above a value of bf16 by 2^-12 of it, so that what rounding to a lower precision
              loses has one sign, and no sum averages it away

Values in the unit domain stay in [0, 1], nonnegative ones above 0: the kinds bend where they must.
The generator is the only source of randomness, and lives where the values are made.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from enum import StrEnum

import torch
from torch import Tensor

from reward_service.judge.domains import Domain, Kind, detect_domains
from reward_service.judge.state import randomise_state
from reward_service.judge.structure import sample

__all__ = [
    "Domain",
    "Kind",
    "Variation",
    "detect_domains",
    "generate",
    "plan_trials",
    "randomise_state",
]

_POOL = 1 << 20
"""Values that resampling draws from."""
_EXCESS = 2.0**-12
"""Less than half of the last bit of bf16, fp16 and tf32, and a 24-bit product with one of them."""


class Variation(StrEnum):
    """How a trial's values differ from those that the problem draws."""

    AS_DRAWN = "as_drawn"
    HEAVY = "heavy"
    SCALED = "scaled"
    SHIFTED = "shifted"
    SPIKED = "spiked"
    SMALL = "small"
    FINE = "fine"


def plan_trials(domains: Sequence[Domain], n: int, rng: random.Random) -> list[Variation]:
    """The variations of `n` trials in unpredictable order.

    As drawn comes at least once and, from two trials on, so does spiked, from three on fine; from
    seven on, each does.
    Where the judge makes no input, every trial is as drawn.
    """
    if not any(domain.generated for domain in domains):
        return [Variation.AS_DRAWN] * n
    others = list(Variation)
    others.remove(Variation.AS_DRAWN)
    others.remove(Variation.SPIKED)
    others.remove(Variation.FINE)
    rng.shuffle(others)
    plan = [Variation.AS_DRAWN, Variation.SPIKED, Variation.FINE, *others][:n]
    plan += rng.choices(list(Variation), k=n - len(plan))
    rng.shuffle(plan)
    return plan


def generate(
    domain: Domain,
    base: Tensor,
    kind: Variation,
    generator: torch.Generator,
    device: torch.device | str,
) -> Tensor:
    """New values with the shape, dtype and strides of `base`, on `device`.

    `base` is one of the draws that the domain was learnt from. Raises ValueError for a domain
    whose values are not the judge's to make.
    """
    if not domain.generated:
        raise ValueError(f"inputs of the domain {domain.kind} are not generated")
    wide = torch.float64 if base.dtype == torch.float64 else torch.float32
    x = torch.empty(base.shape, dtype=wide, device=device)
    if kind is Variation.HEAVY:
        _heavy(x, domain, generator)
    else:
        _as_drawn(x, domain, base, generator)
    if kind is Variation.SCALED:
        _scale_rows(x, domain, generator)
    elif kind is Variation.SHIFTED:
        _shift(x, domain, generator)
    elif kind is Variation.SPIKED:
        _hide_spikes(x, domain, generator)
    elif kind is Variation.SMALL:
        x /= 16
    elif kind is Variation.FINE:
        x = x.bfloat16().to(wide).mul_(1 + _EXCESS)
    out = torch.empty_like(base, device=device, memory_format=torch.preserve_format)
    out.copy_(x.clamp_(*_limits(domain.kind, base.dtype)))
    return out.detach()


def _limits(kind: Kind, dtype: torch.dtype) -> tuple[float, float]:
    """The least and largest value that the domain allows and the dtype holds, ends excluded."""
    info = torch.finfo(dtype)
    if kind is Kind.UNIT:
        return info.smallest_normal, 1 - info.eps / 2
    return (info.smallest_normal if kind is Kind.NONNEGATIVE else info.min), info.max


def _uniform(generator: torch.Generator, device: torch.device, low: float, high: float) -> float:
    return low + (high - low) * float(torch.rand((), generator=generator, device=device))


def _as_drawn(x: Tensor, domain: Domain, base: Tensor, g: torch.Generator) -> None:
    if domain.shape == "uniform":
        half = math.sqrt(3) * domain.std
        low = domain.mean - half if domain.kind is Kind.SIGNED else 0.0
        high = 1.0 if domain.kind is Kind.UNIT else domain.mean + half
        x.uniform_(low, high, generator=g)
    elif domain.shape == "normal" and domain.kind is Kind.SIGNED:
        x.normal_(domain.mean, domain.std, generator=g)
    else:
        pool = sample(base.detach(), _POOL).to(device=x.device, dtype=x.dtype)
        picks = torch.randint(
            pool.numel(), (x.numel(),), generator=g, device=x.device, dtype=torch.int32
        )
        x.normal_(0.0, 0.05, generator=g).exp_()
        x.view(-1).mul_(pool.index_select(0, picks))


def _heavy(x: Tensor, domain: Domain, g: torch.Generator) -> None:
    if domain.kind is Kind.UNIT:
        x.uniform_(generator=g).pow_(4)
    elif domain.kind is Kind.NONNEGATIVE:
        x.normal_(generator=g).sub_(0.5).exp_().mul_(domain.mean)
    else:
        x.exponential_(generator=g)
        x -= torch.empty_like(x).exponential_(generator=g)
        x.mul_(domain.std / math.sqrt(2)).add_(domain.mean)


def _scale_rows(x: Tensor, domain: Domain, g: torch.Generator) -> None:
    shape = (*x.shape[:-1], 1) if x.dim() > 1 else x.shape
    exponent = torch.empty(shape, dtype=x.dtype, device=x.device)
    low, high = (-4, 0) if domain.kind is Kind.UNIT else (-2, 2)
    x.mul_((exponent.uniform_(low, high, generator=g) * math.log(2)).exp_())


def _shift(x: Tensor, domain: Domain, g: torch.Generator) -> None:
    if domain.kind is Kind.UNIT:
        low = _uniform(g, x.device, 0.2, 0.6)
        x.mul_(1 - low).add_(low)
        return
    by = domain.std * _uniform(g, x.device, 0.5, 1.5)
    if domain.kind is Kind.SIGNED and _uniform(g, x.device, 0, 1) < 0.5:
        by = -by
    x += by


def _hide_spikes(x: Tensor, domain: Domain, g: torch.Generator) -> None:
    count = min(int(_uniform(g, x.device, 8, 65)), max(1, x.numel() // 4))
    places = torch.randint(x.numel(), (count,), generator=g, device=x.device)
    size = torch.empty(count, dtype=x.dtype, device=x.device).uniform_(0.8, 1.2, generator=g)
    if domain.kind is Kind.UNIT:
        x /= 8
        spikes = size / 1.2
    else:
        spikes = size * 8 * math.hypot(domain.mean, domain.std)
    if domain.kind is Kind.SIGNED:
        spikes *= torch.randint(2, (count,), generator=g, device=x.device) * 2 - 1
    x.view(-1)[places] = spikes
