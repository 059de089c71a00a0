"""Ghost replay: the candidate once more, in a fresh runner, with modules that have no effect.

If its outputs are right all the same, its kernels do not matter: they ran beside the work, or
not at all. On a GPU the ghost's modules are copies with emptied kernels (device_code.py); on the
CPU their functions run and what they did is undone (runner/frames.py). Whatever else a ghost
does (fail, crash, never end) shows that its kernels matter.

It says nothing where a problem is so weak that a constant or an input passes for its output:
there memory that nobody wrote can be right. A program that looks for its kernels' work and spoils
its own output without it passes here; how much of the time they hold is witness.py's question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from reward_service.findings import Finding
from reward_service.judge.device_code import emptied
from reward_service.judge.loading import Loading, load
from reward_service.judge.program import Program
from reward_service.judge.reference import Reference
from reward_service.judge.runner_client import CandidateError
from reward_service.schemas import Reason

CALLS = 2
_TELL_NOTHING = ("zeros", "mean", "row_mean", "input_")

Modules = Mapping[str, tuple[str, bytes]]
"""Key of the extension call -> name and contents of its module's file."""
Effect = Literal["changed", "unchanged", "failed"]


def tells(reference: Reference) -> bool:
    """Whether a ghost's output can tell anything, on this problem."""
    return not any(name.startswith(_TELL_NOTHING) for name in reference.controls.weak)


def place_modules(modules: Modules, directory: Path, *, empty: bool) -> dict[str, str]:
    """Write modules where a ghost may read them, with emptied kernels if asked.

    Raises `MalformedError`.
    """
    placed = {}
    for key, (name, contents) in modules.items():
        target = directory / name
        target.write_bytes(emptied(contents) if empty else contents)
        target.chmod(0o644)
        placed[key] = str(target)
    return placed


def replay(
    ghost: Program,
    loading: Loading,
    reference: Reference,
    is_right: Callable[[Program], bool],
) -> tuple[Effect, Reason | None]:
    """What becomes of the output without the kernels, and why the ghost failed if it did.

    `is_right`: makes one call on fresh values, and says whether its output is right.
    """
    try:
        load(ghost, replace(loading, ghost=True), reference)
        right = all(is_right(ghost) for _ in range(CALLS))
    except CandidateError as error:
        return "failed", error.reason
    return ("unchanged" if right else "changed"), None


def no_effect(evidence: dict[str, Any]) -> Finding:
    """For a candidate whose kernels do not matter."""
    return Finding(
        Reason.NO_CUSTOM_KERNEL,
        "with kernels that do nothing its outputs are still right: they are not what computes them",
        evidence=evidence,
    )
