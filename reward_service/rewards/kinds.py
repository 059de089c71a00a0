"""The four ways of turning a scored verdict into a number.

Each kind is a frozen model whose fields are its parameters; a validator refuses values under
which cheating, or failing, would pay. Three rules hold for all of them:

- a rejected candidate is worth no more than one that does not compile;
- a correct candidate is worth at least as much as any failure (more, but for `fast_p`);
- speed counts by the lower end of the speedup's interval, so that noise never pays, and a
  correct verdict that was not timed gets the part that does not depend on speed.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reward_service.schemas import Outcome

Number = Annotated[float, Field(ge=-1_000, le=1_000)]
"""A parameter; bounded, so that no combination of them overflows."""


class Kind(BaseModel):
    """One way of scoring, with its parameters."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    def correct(self, speedup_low: float | None) -> float:
        """Worth of a correct candidate; None: it was not timed."""
        raise NotImplementedError

    def failed(self, outcome: Outcome) -> float:
        """Worth of a scored outcome other than correct."""
        raise NotImplementedError


class Dice(Kind):
    """1 if correct, else 0: the reward that DICE was trained with."""

    def correct(self, speedup_low: float | None) -> float:
        """Speed does not count."""
        return 1.0

    def failed(self, outcome: Outcome) -> float:
        """All failures are worth the same."""
        return 0.0


class FastP(Kind):
    """1 if correct and more than p times as fast as the baseline, else 0."""

    p: Annotated[Number, Field(ge=0)] = 1.0

    def correct(self, speedup_low: float | None) -> float:
        """0 where it was not timed, unless p is 0 and any speed will do."""
        return 1.0 if self.p == 0 or (speedup_low is not None and speedup_low > self.p) else 0.0

    def failed(self, outcome: Outcome) -> float:
        """All failures are worth the same."""
        return 0.0


class Tiered(Kind):
    """Partial credit by the stage reached, then by speed up to `full_speedup`."""

    rejected: Number = 0.0
    compile_error: Number = 0.0
    runtime_error: Number = 0.1
    """Also of a timeout: it built, and gave no answer."""
    incorrect: Number = 0.2
    base: Number = 0.5
    """Correct, at the baseline's speed or below it."""
    speed: Annotated[Number, Field(ge=0)] = 0.5
    """Added at `full_speedup` and above; in between it grows with the logarithm."""
    full_speedup: Annotated[Number, Field(gt=1)] = 4.0

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        tiers = (self.compile_error, self.runtime_error, self.incorrect, self.base)
        if self.rejected > self.compile_error or not _strictly_rising(tiers):
            raise ValueError("needs rejected <= compile_error < runtime_error < incorrect < base")
        return self

    def correct(self, speedup_low: float | None) -> float:
        """`base`, and the part of `speed` that was earned."""
        if speedup_low is None:
            return self.base
        earned = math.log(speedup_low) / math.log(self.full_speedup)
        return self.base + self.speed * _clip(earned, 0.0, 1.0)

    def failed(self, outcome: Outcome) -> float:
        """By the stage reached."""
        return {
            Outcome.REJECTED: self.rejected,
            Outcome.COMPILE_ERROR: self.compile_error,
            Outcome.RUNTIME_ERROR: self.runtime_error,
            Outcome.TIMEOUT: self.runtime_error,
            Outcome.INCORRECT: self.incorrect,
        }[outcome]


class LogSpeedup(Kind):
    """Correct: base + scale * clip(log2(speedup), lo, hi), so that doublings pay alike."""

    compile_error: Number = 0.0
    """Also of a rejected candidate."""
    failure: Number = 0.0
    """It ran: wrong, crashed or out of time."""
    base: Number = 1.0
    """Correct, at the baseline's speed, or not timed."""
    scale: Annotated[Number, Field(ge=0)] = 0.25
    lo: Annotated[Number, Field(le=0)] = -2.0
    hi: Annotated[Number, Field(ge=0)] = 4.0

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        slowest = self.base + self.scale * self.lo
        if not self.compile_error <= self.failure < slowest:
            raise ValueError("needs compile_error <= failure < base + scale * lo")
        return self

    def correct(self, speedup_low: float | None) -> float:
        """Grows with each doubling between 2**lo and 2**hi."""
        doublings = 0.0 if speedup_low is None else math.log2(speedup_low)
        return self.base + self.scale * _clip(doublings, self.lo, self.hi)

    def failed(self, outcome: Outcome) -> float:
        """By whether it ran."""
        unran = (Outcome.COMPILE_ERROR, Outcome.REJECTED)
        return self.compile_error if outcome in unran else self.failure


KINDS: dict[str, type[Kind]] = {
    "dice": Dice,
    "fast_p": FastP,
    "tiered": Tiered,
    "log_speedup": LogSpeedup,
}


def _clip(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def _strictly_rising(values: tuple[float, ...]) -> bool:
    return all(a < b for a, b in pairwise(values))
