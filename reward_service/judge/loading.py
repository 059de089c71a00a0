"""Loads a candidate into a runner, up to the point where it can be called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reward_service.judge.program import Program
from reward_service.judge.reference import Reference
from reward_service.judge.weights import Match, match


@dataclass(frozen=True)
class Loading:
    """What a candidate is loaded from."""

    source: str
    extensions: Mapping[str, str]
    """Key of the extension call -> path of its module."""
    directory: str
    """The runner's own."""
    allow_tf32: bool
    limit_s: float
    ghost: bool = False
    """Whether its modules are to have no effect."""


def load(program: Program, loading: Loading, reference: Reference) -> Match | None:
    """Load, construct and bind a candidate, and give it the reference's randomised state.

    Returns which of its state is which of the reference's; where there is no such match, both
    keep what seeded construction made. Raises `RunnerError`.
    """
    limit = loading.limit_s
    program.ask("numerics", limit, allow_tf32=loading.allow_tf32)
    program.ask(
        "load",
        limit,
        source=loading.source,
        name="candidate",
        directory=loading.directory,
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
    found = match(program, reference.program, reference.seeded_state)
    if found is None:
        reference.use_state(reference.seeded_state)
    else:
        reference.use_state(found.tied(reference.random_state))
        program.write_state(found.of(reference.state))
    reference.bind(program)
    return found
