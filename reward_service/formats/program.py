"""The program that a candidate stands for, whatever form it came in.

A candidate is resolved once, when it is admitted: from then on a completion is the program that
was found in it. An infill stays as it is, because its verdict says that its scaffold was kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from reward_service.digest import sha256
from reward_service.formats.completion import find_program
from reward_service.formats.infill import Infill
from reward_service.schemas import Candidate


class NoProgramError(ValueError):
    """A completion holds no program: a failing candidate, not a wrong request."""

    def __init__(self) -> None:
        super().__init__(
            "the completion holds no program: neither a fenced block nor the text itself "
            "defines `ModelNew`"
        )


def program_of(candidate: Candidate) -> str:
    """The Python source that is to be judged. Raises `NoProgramError`."""
    infill = infill_of(candidate)
    if infill is not None:
        return infill.text
    if candidate.source is not None:
        return candidate.source
    program = find_program(candidate.text or "")
    if program is None:
        raise NoProgramError
    return program


def infill_of(candidate: Candidate) -> Infill | None:
    """The parts of an infill; None for any other candidate."""
    if candidate.prefix is None or candidate.middle is None or candidate.suffix is None:
        return None
    return Infill(candidate.prefix, candidate.middle, candidate.suffix)


@dataclass(frozen=True)
class Resolved:
    """A candidate, and what tells it from others."""

    candidate: Candidate
    """With its program as `source`, unless it has none or is an infill."""
    hash: str
    """SHA-256 of the program, in hex; of the text, where that holds none."""
    identity: tuple[str, ...]
    """Equal where the verdicts must be."""


def resolve(candidate: Candidate) -> Resolved:
    """Find the program of a candidate."""
    try:
        program = program_of(candidate)
    except NoProgramError:
        digest = sha256(candidate.text or "")
        return Resolved(candidate, digest, ("no program", digest))
    digest = sha256(program)
    infill = infill_of(candidate)
    if infill is not None:
        scaffold = sha256(infill.prefix), sha256(infill.suffix)
        return Resolved(candidate, digest, ("infill", digest, *scaffold))
    if candidate.source is None:
        candidate = Candidate(source=program)
    return Resolved(candidate, digest, ("kernelbench", digest))
