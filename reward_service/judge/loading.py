"""Loads a candidate into a runner, up to the point where it can be called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reward_service.judge.program import Program
from reward_service.judge.reference import Reference


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


def load(program: Program, loading: Loading, reference: Reference) -> bool:
    """Load, construct and bind a candidate; whether it took the reference's randomised state,
    which it does where names and shapes agree. Raises `RunnerError`."""
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
    strict = _layout_of(program) == _layout_of(reference.program)
    reference.load_state(randomised=strict)
    if strict and reference.random_state:
        program.write_named_state(reference.named_random_state())
    reference.bind(program)
    return strict


def _layout_of(program: Program) -> list[tuple[str, tuple[int, ...], str]]:
    """Names, shapes and dtypes of a program's state; sorted, since order means nothing."""
    return sorted((name, spec.shape, spec.dtype) for name, spec in program.state)
