"""What comes before a build, and so belongs to it: is there a program, and is its scaffold kept?

`build_program` is the build stage as the service and the command line call it. An infill's verdict
has the check `scaffold` from here on, whatever becomes of it later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from reward_service.digest import sha256
from reward_service.findings import Built, Context, Finding
from reward_service.formats.infill import Infill, contained
from reward_service.formats.program import NoProgramError, infill_of, program_of
from reward_service.schemas import BuildReport, Check, Reason, Submission

Build: TypeAlias = Callable[[Submission, str, Context], Built | Finding]
"""The build stage; the string is the reference's source."""

NOT_BUILT = BuildReport(path="none")


def build_program(
    build: Build, submission: Submission, problem: str, context: Context
) -> Built | Finding:
    """Build a candidate that has a program and keeps to its place. Raises what `build` raises."""
    infill = infill_of(submission.candidate)
    if infill is None:
        try:
            program_of(submission.candidate)
        except NoProgramError as error:
            return Finding(Reason.BUILD_FAILED, str(error), build=NOT_BUILT)
        return build(submission, problem, context)
    check = scaffold_check(infill)
    if not check.passed:
        message = (
            "the middle leaves its place: with it, the program around it is no longer the "
            "scaffold's"
        )
        return Finding(Reason.FORBIDDEN, message, checks=(check,), build=NOT_BUILT)
    made = build(submission, problem, context)
    if isinstance(made, Finding):
        return replace(made, checks=(check, *made.checks))
    return made.model_copy(update={"checks": (check, *made.checks)})


def scaffold_check(infill: Infill) -> Check:
    """Says which scaffold the service put around the middle, and whether that stayed in it."""
    within = contained(infill)
    return Check(
        name="scaffold",
        passed=within is not False,
        evidence={
            "prefix_sha256": sha256(infill.prefix),
            "suffix_sha256": sha256(infill.suffix),
            "middle_chars": len(infill.middle),
            "contained": within,
        },
    )
