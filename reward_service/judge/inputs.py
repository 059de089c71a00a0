"""Fresh input values for every call: made by the judge where an input's domain allows it, drawn
by the problem's own `get_inputs()` where it has structure.

Values that the judge makes lie rotated in the memory that a runner can see, by an offset that it
learns with `go`; so what it could do with them before the clock starts is of no use.
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
        stored: list[Tensor] = []
        offsets: list[int] = []
        for domain, base, tensor in zip(self.domains, self.base, drawn, strict=True):
            if domain.generated:
                stored.append(generate(domain, base, kind, self._generator, self._device))
                offsets.append(secrets.randbelow(max(1, base.numel())))
            else:
                stored.append(tensor)
                offsets.append(0)
        return Values.of(stored, offsets, secrets.randbits(62))

    def _redraw(self) -> Sequence[Tensor]:
        if all(domain.kind is not Kind.REDRAW for domain in self.domains):
            return self.base
        return self._program.draw(secrets.randbits(62))[1]
