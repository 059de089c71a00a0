"""Shows a verdict to a person."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from reward_service.schemas import Outcome, Timing, Verdict

_COLOURS = {Outcome.CORRECT: "green", Outcome.BUILT: "green", Outcome.UNSCORED: "yellow"}


def show_verdict(verdict: Verdict, console: Console) -> None:
    """Print the outcome, the reason, the numbers and what was checked."""
    colour = _COLOURS.get(verdict.outcome, "red")
    title = str(verdict.outcome) + (f" / {verdict.reason}" if verdict.reason else "")
    console.print(f"[bold {colour}]{title}[/]")
    if verdict.message:
        console.print(escape(verdict.message))
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in _facts(verdict):
        table.add_row(f"[dim]{name}[/]", value)
    console.print(table)
    for check in verdict.checks:
        mark = "[green]ok[/]  " if check.passed else "[red]FAIL[/]"
        evidence = ", ".join(f"{key}={_short(value)}" for key, value in check.evidence.items())
        console.print(f"{mark} {check.name}  [dim]{escape(evidence)}[/]")
    for warning in verdict.warnings:
        console.print(f"[yellow]warning:[/] {escape(warning)}")
    if verdict.build and verdict.build.log_tail and verdict.compiled is False:
        console.print(escape(verdict.build.log_tail), style="dim")


def speedup_text(verdict: Verdict, digits: int = 3) -> str:
    """The speedup with its interval, or nothing."""
    speedup = verdict.speedup
    if speedup is None:
        return ""
    return f"{speedup.value:.{digits}f}x [{speedup.low:.{digits}f}, {speedup.high:.{digits}f}]"


def _facts(verdict: Verdict) -> list[tuple[str, str]]:
    facts = []
    if verdict.reward is not None:
        facts.append(("reward", f"{verdict.reward:.4f} ({verdict.reward_config})"))
    if verdict.speedup is not None:
        facts.append(("speedup", f"{speedup_text(verdict)} over {verdict.speedup.baseline}"))
    for name, timing in (
        ("reference", verdict.reference_time_s),
        ("candidate", verdict.candidate_time_s),
    ):
        if timing is not None:
            facts.append((name, _timing_text(timing)))
    stages = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in verdict.stages.items())
    if stages:
        facts.append(("stages", stages))
    where = verdict.provenance
    if where.device_name is not None:
        facts.append(("device", f"{where.device_name} (isolation {where.isolation})"))
    return facts


def _timing_text(timing: Timing) -> str:
    return f"{timing.median * 1e6:.1f} us a call (+- {timing.spread * 1e6:.1f}, {timing.calls})"


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)[:80]
