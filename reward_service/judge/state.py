"""New values for a model's parameters and buffers, so that none can be left out unseen.

A bias of 0, a gain of 1 or a running variance of 1 is invisible until it is something else.
Values stay sane: near their scale, of their sign where they have one. What is a table rather
than a weight stays as it is: integers and bools, tensors with infinities, masks and others of few
values, sorted, evenly spaced or otherwise structured ones.
"""

from __future__ import annotations

import torch
from torch import Tensor

from reward_service.judge.structure import looks_discrete, looks_structured

_SPREAD = 0.1


def randomise_state(name: str, tensor: Tensor, generator: torch.Generator) -> Tensor:
    """A new value for the parameter or buffer `name`, with its shape, dtype and device.

    The generator lives on the tensor's device. A tensor that must stay is returned itself.
    """
    tensor = tensor.detach()
    if not tensor.is_floating_point() or tensor.numel() == 0 or not tensor.isfinite().all():
        return tensor
    wide = tensor.double()
    first = wide.flatten()[0]
    noise = torch.empty_like(wide).normal_(generator=generator)
    if bool((wide == first).all()):
        return _from_constant(name, float(first), noise).to(tensor.dtype)
    if _is_table(tensor.cpu()):
        return tensor
    low, high = wide.min(), wide.max()
    if low > 0 or high < 0:
        return wide.mul(noise.mul_(0.3).exp_()).to(tensor.dtype)
    return noise.clamp_(-3, 3).mul_(wide.std()).add_(wide.mean()).to(tensor.dtype)


def _from_constant(name: str, value: float, noise: Tensor) -> Tensor:
    if name.endswith("running_var"):
        return noise.mul_(0.3).exp_().mul_(value)
    if value == 0:
        return noise.mul_(_SPREAD)
    return noise.clamp_(-3, 3).mul_(_SPREAD).add_(1).mul_(value)


def _is_table(x: Tensor) -> bool:
    if x.numel() > 2:
        steps = x.double().flatten().diff()
        ordered = x.numel() >= 8 and bool((steps > 0).all() or (steps < 0).all())
        if ordered or steps.std() <= 1e-6 * steps.abs().max():
            return True
    return looks_discrete(x) or (x.numel() >= 16 and looks_structured(x))
