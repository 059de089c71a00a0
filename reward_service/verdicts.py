"""Makes legal verdicts out of what the stages of an evaluation hand over.

Four ways lead to a verdict: a finding of either stage, a judgement, a build that was all the
policy asked for, and a failure of the service. Each fills in the reward, the provenance and
what follows from the outcome, so that no caller needs to know `Verdict`'s rules. Text of
foreign origin is cut to size and made encodable here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from reward_service import __version__
from reward_service.findings import Built, Finding, Judgement
from reward_service.schemas import (
    MAX_MESSAGE_CHARS,
    NEVER_RETRYABLE,
    OUTCOME_OF,
    BuildReport,
    Check,
    Outcome,
    Provenance,
    Reason,
    Verdict,
)

if TYPE_CHECKING:
    from reward_service.rewards.book import RewardConfig

CUT = " [...]"
_SOURCES = frozenset({".py", ".h", ".hpp", ".cuh", ".cpp"})


@cache
def harness_hash() -> str:
    """SHA-256 over this package's own sources, in hex: what judged, whatever its version."""
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for file in sorted(f for f in root.rglob("*") if f.suffix in _SOURCES):
        digest.update(f"{file.relative_to(root).as_posix()}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


@dataclass(frozen=True)
class Subject:
    """What a verdict is about."""

    id: str
    problem_hash: str | None = None
    candidate_hash: str | None = None


def unscored(
    subject: Subject,
    reason: Reason,
    message: str,
    *,
    stages: Mapping[str, float] | None = None,
    build: BuildReport | None = None,
    warnings: tuple[str, ...] = (),
) -> Verdict:
    """The service could not tell. `reason` must be one of the outcome `unscored`."""
    return Verdict(
        id=subject.id,
        outcome=Outcome.UNSCORED,
        reason=reason,
        message=bounded(message),
        compiled=None if build is None else True,
        stages=dict(stages or {}),
        build=build,
        provenance=_provenance(subject),
        warnings=warnings,
        retryable=reason not in NEVER_RETRYABLE,
    )


def of_finding(
    subject: Subject,
    reward: RewardConfig,
    finding: Finding,
    *,
    built: Built | None = None,
    stages: Mapping[str, float] | None = None,
) -> Verdict:
    """The candidate got no further; `built` where the build had succeeded before."""
    judgement = Judgement(failure=finding, stages=dict(stages or {}))
    return _of(subject, reward, built, judgement)


def of_judgement(
    subject: Subject,
    reward: RewardConfig,
    built: Built,
    judgement: Judgement,
    *,
    stages: Mapping[str, float] | None = None,
) -> Verdict:
    """The candidate ran: correct, or what its `failure` says. `stages` adds to the judge's own."""
    return _of(subject, reward, built, judgement, stages)


def of_built(
    subject: Subject,
    built: Built,
    *,
    stages: Mapping[str, float] | None = None,
) -> Verdict:
    """It compiled, and the policy asked to stop there."""
    return Verdict(
        id=subject.id,
        outcome=Outcome.BUILT,
        compiled=True,
        checks=built.checks,
        stages=dict(stages or {}),
        build=built.report,
        provenance=_provenance(subject, built=built),
        warnings=built.warnings,
    )


def bounded(message: str) -> str:
    """`message` as text that JSON can carry, cut to the wire's limit."""
    text = message.encode("utf-8", "backslashreplace").decode("utf-8")
    if len(text) > MAX_MESSAGE_CHARS:
        text = text[: MAX_MESSAGE_CHARS - len(CUT)] + CUT
    return text


def _of(
    subject: Subject,
    reward: RewardConfig,
    built: Built | None,
    judgement: Judgement,
    stages: Mapping[str, float] | None = None,
) -> Verdict:
    finding = judgement.failure
    reason = None if finding is None else finding.reason
    outcome = Outcome.CORRECT if reason is None else OUTCOME_OF[reason]
    scored = outcome is not Outcome.UNSCORED
    speedup = judgement.speedup if outcome is Outcome.CORRECT else None
    report = built.report if built is not None else None
    if finding is not None and finding.build is not None:
        report = finding.build
    return Verdict(
        id=subject.id,
        outcome=outcome,
        reason=reason,
        message="" if finding is None else bounded(finding.message),
        reward=reward.score(outcome, reason, speedup) if scored else None,
        reward_config=reward.ref if scored else None,
        compiled=_compiled(outcome, built),
        correct={Outcome.CORRECT: True, Outcome.INCORRECT: False}.get(outcome),
        checks=(*(built.checks if built is not None else ()), *_checks(judgement)),
        speedup=speedup,
        reference_time_s=judgement.reference_time_s,
        candidate_time_s=judgement.candidate_time_s,
        stages={**judgement.stages, **(stages or {})},
        build=report,
        provenance=_provenance(subject, judgement.provenance, built),
        warnings=(*(built.warnings if built is not None else ()), *judgement.warnings),
        retryable=not scored and reason not in NEVER_RETRYABLE,
    )


def _compiled(outcome: Outcome, built: Built | None) -> bool | None:
    """None where a candidate was stopped before anything had been built."""
    if outcome is Outcome.COMPILE_ERROR:
        return False
    if built is not None or outcome in (Outcome.CORRECT, Outcome.INCORRECT):
        return True
    return None


def _checks(judgement: Judgement) -> tuple[Check, ...]:
    """The judge's checks and the finding's own; evidence that has no check becomes one."""
    finding = judgement.failure
    if finding is None:
        return judgement.checks
    checks = judgement.checks + tuple(c for c in finding.checks if c not in judgement.checks)
    if finding.evidence:
        named = Check(name=finding.reason.lower(), passed=False, evidence=finding.evidence)
        checks += (named,)
    return checks


def _provenance(
    subject: Subject, device: Provenance | None = None, built: Built | None = None
) -> Provenance:
    known = {} if device is None else device.model_dump(exclude_none=True)
    if built is not None and built.compiler is not None:
        known.setdefault("compiler", built.compiler)
    known |= {
        "service_version": __version__,
        "harness_hash": harness_hash(),
        "problem_hash": subject.problem_hash,
        "candidate_hash": subject.candidate_hash,
    }
    return Provenance.model_validate(known)
