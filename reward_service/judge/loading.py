"""Loads a candidate into a runner, up to the point where it can be called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reward_service.judge.program import Program
from reward_service.judge.reference import Reference
from reward_service.judge.weights import Match, match
from reward_service.schemas import Reason


@dataclass(frozen=True)
class Loading:
    """What a candidate is loaded from."""

    source: str
    extensions: Mapping[str, str]
    """Key of the extension call -> path of its module."""
    allow_tf32: bool
    limit_s: float
    ghost: bool = False
    """Whether its modules are to have no effect."""


def load(program: Program, loading: Loading, reference: Reference) -> Match:
    """Load, construct and bind a candidate, and give both sides what random values they can share.

    Returns which of its state is which of the reference's. Raises `RunnerError`.
    """
    limit = loading.limit_s
    program.ask("numerics", limit, allow_tf32=loading.allow_tf32)
    program.ask(
        "load",
        limit,
        source=loading.source,
        name="candidate",
        extensions=dict(loading.extensions),
        ghost=loading.ghost,
    )
    program.construct(
        limit,
        cls="ModelNew",
        seed=reference.construct_seed,
        init=reference.init,
        double=False,
        compiled=False,
    )
    reference.require_room(program)
    found = match(program, reference.program, reference.seeded_state)
    reference.use_state(found.reference_state(reference.seeded_state, reference.random_state))
    program.write_state(found.candidate_state(reference.state))
    if lacking := reference.visible(found.missing):
        raise program.client.failure(
            Reason.STATE,
            f"it has nothing like the reference's {', '.join(map(repr, lacking))}, and keeps its "
            "weights in another form: what is constant after construction could be left out; keep "
            "such parameters as the reference has them",
        )
    reference.bind(program)
    return found
