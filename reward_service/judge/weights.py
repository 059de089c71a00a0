"""Which of a candidate's parameters and buffers is which of the reference's.

By name where names, shapes and dtypes agree. Else by value: both were constructed under one seed,
so that what is the same tensor has the same bits. Where several have (two biases of 0), any of
them may be meant; all of these get the same random values, and whichever was meant is right.

A program that keeps its weights in another form has no such match, and both sides keep what
seeded construction made. What that made constant could then be left out unseen, so each constant
of the reference must still be there, and gets random values; one that is not there, and whose
value shows in the output, is a reason to refuse.
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
How = Literal["name", "value", "constants"]


@dataclass(frozen=True)
class Match:
    """For each tensor of a candidate's state, where in the reference's it may be."""

    how: How
    places: tuple[tuple[int, ...], ...]
    """Empty for what is the candidate's alone."""
    own: Sequence[Tensor] = ()
    """The candidate's state after seeded construction, where some of it is kept."""
    missing: tuple[int, ...] = ()
    """Constants of the reference that the candidate has not."""

    @property
    def whole(self) -> bool:
        """Whether all of the reference's state is the candidate's, and nothing else is."""
        return self.how != "constants"

    def reference_state(self, seeded: Sequence[Tensor], random: Sequence[Tensor]) -> list[Tensor]:
        """Random values for what was found, one for all that a tensor may be."""
        state = list(random) if self.whole else list(seeded)
        for group in self.places:
            for place in group:
                state[place] = random[group[0]]
        return state

    def candidate_state(self, reference_state: Sequence[Tensor]) -> list[Tensor]:
        """The candidate's, from what `reference_state` gave."""
        return [
            reference_state[group[0]] if group else self.own[place]
            for place, group in enumerate(self.places)
        ]


def match(candidate: Program, reference: Program, seeded: Sequence[Tensor]) -> Match:
    """The match of two programs; `seeded`: the reference's state after seeded construction.

    Raises `RunnerError` where the candidate's cannot be read.
    """
    found = by_name(candidate.state, reference.state)
    if found is None:
        own = candidate.read_state()
        names = [name for name, _ in reference.state]
        found = by_value(own, seeded, names) or by_constants(own, seeded, names)
    return found


def by_name(candidate: State, reference: State) -> Match | None:
    """The match of equal names, shapes and dtypes; their order means nothing."""
    places = {_described(item): (place,) for place, item in enumerate(reference)}
    found = tuple(places.get(_described(item), ()) for item in candidate)
    return Match("name", found) if _complete(found, len(reference)) else None


def by_value(
    candidate: Sequence[Tensor], reference: Sequence[Tensor], names: Sequence[str]
) -> Match | None:
    """The match of equal bits; `names` are the reference's."""
    groups = _groups(reference, names)
    found = tuple(groups.get(_identity(tensor), ()) for tensor in candidate)
    return Match("value", found) if _complete(found, len(reference)) else None


def by_constants(
    candidate: Sequence[Tensor], reference: Sequence[Tensor], names: Sequence[str]
) -> Match:
    """The match of what is the same value throughout.

    A candidate may have fewer of one kind (a bias of 0, but no running mean of 0): what it has may
    be any of them. Where it has more, some are its own, and which is not known.
    """
    groups = {
        identity: group
        for identity, group in _groups(reference, names).items()
        if _is_constant(reference[group[0]])
    }
    identities = [_identity(tensor) for tensor in candidate]
    counts = Counter(identities)
    held = {i: group for i, group in groups.items() if 0 < counts[i] <= len(group)}
    missing = [place for i, group in groups.items() if i not in held for place in group]
    found = tuple(held.get(identity, ()) for identity in identities)
    return Match("constants", found, candidate, tuple(sorted(missing)))


def _groups(reference: Sequence[Tensor], names: Sequence[str]) -> dict[Hashable, tuple[int, ...]]:
    """The places of equal tensors. The first one's random values are for all of a group: those of
    a variance if there is one, since they suit the others."""
    groups: dict[Hashable, tuple[int, ...]] = {}
    for place, tensor in enumerate(reference):
        identity = _identity(tensor)
        before = groups.get(identity, ())
        variance = names[place].endswith("running_var")
        groups[identity] = (place, *before) if variance else (*before, place)
    return groups


def _complete(found: Sequence[tuple[int, ...]], size: int) -> bool:
    """Whether nothing is missing on either side."""
    return len(found) == size and all(
        count == len(group) for group, count in Counter(found).items()
    )


def _is_constant(tensor: Tensor) -> bool:
    flat = tensor.flatten()
    return tensor.is_floating_point() and flat.numel() > 0 and bool((flat == flat[0]).all())


def _described(item: tuple[str, TensorSpec]) -> Hashable:
    name, spec = item
    return name, spec.shape, spec.dtype


def _identity(tensor: Tensor) -> Hashable:
    bits = as_bytes(tensor).cpu().numpy().tobytes()
    return tuple(tensor.shape), tensor.dtype, hashlib.sha256(bits).digest()
