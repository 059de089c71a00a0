"""Which of a candidate's parameters and buffers is which of the reference's.

By name where names, shapes and dtypes agree. Else by value: both were constructed under one seed,
so that what is the same tensor has the same bits. Where several have (two biases of 0), any of
them may be meant; all of these get the same random values, and whichever was meant is right.
A program that keeps its parameters in another form, or lacks some, has no such match.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from reward_service.judge.program import Program
from reward_service.judge.specs import TensorSpec
from reward_service.runner.values import as_bytes

State = Sequence[tuple[str, TensorSpec]]
"""Names and specs, in a program's own order."""


@dataclass(frozen=True)
class Match:
    """For each tensor of a candidate's state, where in the reference's it may be."""

    how: Literal["name", "value"]
    places: tuple[tuple[int, ...], ...]

    def tied(self, state: Sequence[Tensor]) -> list[Tensor]:
        """The reference's state with one value for all that one of the candidate's may be."""
        tied = list(state)
        for group in self.places:
            for place in group:
                tied[place] = state[group[0]]
        return tied

    def of(self, state: Sequence[Tensor]) -> list[Tensor]:
        """The candidate's state, from the reference's when it is tied."""
        return [state[group[0]] for group in self.places]


def match(candidate: Program, reference: Program, seeded: Sequence[Tensor]) -> Match | None:
    """The match of two programs; `seeded`: the reference's state after seeded construction.

    Raises `RunnerError` where the candidate's cannot be read.
    """
    found = by_name(candidate.state, reference.state)
    if found is None and len(candidate.state) == len(seeded):
        names = [name for name, _ in reference.state]
        found = by_value(candidate.read_state(), seeded, names)
    return found


def by_name(candidate: State, reference: State) -> Match | None:
    """The match of equal names, shapes and dtypes; their order means nothing."""
    places = {_described(item): (place,) for place, item in enumerate(reference)}
    found = [places.get(_described(item)) for item in candidate]
    return _match("name", found, len(reference))


def by_value(
    candidate: Sequence[Tensor], reference: Sequence[Tensor], names: Sequence[str]
) -> Match | None:
    """The match of equal bits; `names` are the reference's."""
    groups: dict[Hashable, tuple[int, ...]] = {}
    for place, tensor in enumerate(reference):
        identity = _identity(tensor)
        before = groups.get(identity, ())
        # The first one's random values are for all: those of a variance, which suit the others.
        variance = names[place].endswith("running_var")
        groups[identity] = (place, *before) if variance else (*before, place)
    found = [groups.get(_identity(tensor)) for tensor in candidate]
    return _match("value", found, len(reference))


def _match(
    how: Literal["name", "value"], found: Sequence[tuple[int, ...] | None], size: int
) -> Match | None:
    """A match only if nothing is missing on either side."""
    places = [group for group in found if group is not None]
    complete = len(places) == len(found) == size and all(
        count == len(group) for group, count in Counter(places).items()
    )
    return Match(how, tuple(places)) if complete else None


def _described(item: tuple[str, TensorSpec]) -> Hashable:
    name, spec = item
    return name, spec.shape, spec.dtype


def _identity(tensor: Tensor) -> Hashable:
    bits = as_bytes(tensor).cpu().numpy().tobytes()
    return tuple(tensor.shape), tensor.dtype, hashlib.sha256(bits).digest()
