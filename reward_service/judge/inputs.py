"""Fresh input values for every call: made by the judge where an input's domain allows it, drawn
by the problem's own `get_inputs()` where it has structure.

All lie veiled in the memory that a runner can see, under a key that it learns with `go`.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import torch
from torch import Tensor

from reward_service.judge.program import Program, Values
from reward_service.judge.values import Kind, Variation, detect_domains, generate


class InputSource:
    """Makes values for one problem."""

    def __init__(
        self,
        program: Program,
        draws: Sequence[Sequence[Tensor]],
        device: torch.device,
        generator: torch.Generator,
    ) -> None:
        self._program = program
        self._device = device
        self._generator = generator
        self.base = list(draws[0])
        self.domains = detect_domains([[t.cpu() for t in draw] for draw in draws])

    def fresh(self, kind: Variation) -> Values:
        """Values that no process has seen before."""
        drawn = self._redraw()
        tensors = [
            generate(domain, base, kind, self._generator, self._device)
            if domain.generated
            else tensor
            for domain, base, tensor in zip(self.domains, self.base, drawn, strict=True)
        ]
        return Values.of(tensors, secrets.randbits(62))

    def _redraw(self) -> Sequence[Tensor]:
        if all(domain.kind is not Kind.REDRAW for domain in self.domains):
            return self.base
        return self._program.draw(secrets.randbits(62))[1]
