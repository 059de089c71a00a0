"""`reward-service evaluate`: one evaluation on this machine, with no server."""

from __future__ import annotations

import signal
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.console import Console

from reward_service import verdicts
from reward_service.build.program_stage import build_program
from reward_service.build.stage import BuildStage
from reward_service.cli.common import load_settings, require_state_dir
from reward_service.cli.show import show_verdict
from reward_service.devices.detect import device_names
from reward_service.errors import (
    BadProblemError,
    InfrastructureError,
    PrerequisiteError,
    RequestError,
)
from reward_service.findings import Context, Finding
from reward_service.formats.program import resolve
from reward_service.problems.library import ProblemLibrary, ProblemSource
from reward_service.rewards.book import RewardBook
from reward_service.schemas import Outcome, Submission, Verdict
from reward_service.settings import Settings
from reward_service.worker.supervisor import Supervisor

EXIT_CORRECT, EXIT_SCORED, EXIT_UNSCORED, EXIT_USAGE = 0, 1, 2, 3


def evaluate(
    problem: Annotated[str, typer.Option(help="A file, or a name that `problems` lists.")],
    candidate: Annotated[
        Path,
        typer.Option(
            help="The candidate's file; a .md or .txt is a completion with the program in it."
        ),
    ],
    device: Annotated[
        str, typer.Option(help="cpu, cuda (the first GPU) or cuda:N; by default a GPU if any.")
    ] = "any",
    stop_after: Annotated[str | None, typer.Option(help="build or correctness.")] = None,
    reward: Annotated[str, typer.Option(help="A reward config.")] = "log_speedup",
    precision: Annotated[str, typer.Option(help="fp32, tf32, fp16 or bf16.")] = "fp32",
    library: Annotated[str, typer.Option(help="partial, forbid or allow.")] = "partial",
    baseline: Annotated[str, typer.Option(help="eager or compile.")] = "eager",
    timing: Annotated[bool, typer.Option(help="Measure the speedup.")] = True,
    time_limit_s: Annotated[float | None, typer.Option(help="Seconds one call may take.")] = None,
    deadline_s: Annotated[float, typer.Option(help="Seconds to wait in all.")] = 600.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
    accept_reduced_isolation: Annotated[
        bool, typer.Option(help="Score although foreign code runs under your own user.")
    ] = False,
) -> None:
    """Evaluate one candidate and print its verdict.

    Exit status: 0 correct (or built, where that was asked), 1 any other scored outcome,
    2 unscored, 3 bad usage.
    """
    console = Console(stderr=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that what was started is ended
    try:
        settings = load_settings(min_isolation="reduced" if accept_reduced_isolation else None)
        require_state_dir(settings)
        device = _device(device)
        submission = Submission.model_validate(
            {
                "problem": _problem(problem),
                "candidate": {_candidate_field(candidate): _read(candidate)},
                "policy": {
                    "reward": reward,
                    "precision": precision,
                    "library": library,
                    "baseline": baseline,
                    "timing": timing,
                    "time_limit_s": time_limit_s,
                    "stop_after": stop_after,
                },
                "deadline_s": deadline_s,
            }
        )
        source = ProblemLibrary(settings.problem_dirs).resolve(submission.problem)
        with console.status("starting") as status:
            verdict = run_locally(submission, source, device, settings, status.update)
    except ValidationError as error:
        for item in error.errors():
            field = ".".join(str(part) for part in item["loc"])
            console.print(f"[red]{field}: {item['msg']}")
        raise typer.Exit(EXIT_USAGE) from None
    except (RequestError, PrerequisiteError) as error:
        console.print(f"[red]{error}")
        raise typer.Exit(EXIT_USAGE) from None
    if as_json:
        sys.stdout.write(verdict.model_dump_json(indent=2) + "\n")
    else:
        show_verdict(verdict, Console())
    raise typer.Exit(_exit_status(verdict))


def run_locally(
    submission: Submission,
    problem: ProblemSource,
    device: str,
    settings: Settings,
    progress: Callable[[str], None],
) -> Verdict:
    """Build and judge in this process's own tree; the verdict, whatever happens."""
    reward = RewardBook(settings.reward_file).resolve(submission.policy.reward)
    candidate = resolve(submission.candidate)
    submission = submission.model_copy(update={"candidate": candidate.candidate})
    subject = verdicts.Subject(uuid.uuid4().hex, problem.hash, candidate.hash)
    deadline = time.time() + submission.deadline_s
    context = Context(id=subject.id, deadline=deadline, progress=progress)
    start = time.perf_counter()
    try:
        progress("building")
        with BuildStage(settings, prepare=False) as build:
            built = build_program(build, submission, problem.source, context)
        stages = {"build": time.perf_counter() - start}
        if isinstance(built, Finding):
            return verdicts.of_finding(subject, reward, built, stages=stages)
        if submission.policy.stop_after == "build":
            return verdicts.of_built(subject, built, stages=stages)
        with Supervisor(settings, device) as supervisor:
            judgement = supervisor.judge(submission, problem.source, built, context)
        return verdicts.of_judgement(subject, reward, built, judgement, stages=stages)
    except (InfrastructureError, BadProblemError) as error:
        return verdicts.unscored(subject, error.reason, str(error))


def _device(name: str) -> str:
    """The device that a name on the command line means."""
    found = device_names()
    if name == "any":
        return found[0] if found else "cpu"
    if name == "cuda":
        name = "cuda:0"
    if name not in (*found, "cpu"):
        known = ", ".join(["cpu", *found])
        raise RequestError(422, f"--device {name}: this host has {known}", field="device")
    return name


def _problem(problem: str) -> dict[str, str]:
    path = Path(problem)
    if path.suffix == ".py" or path.is_file():
        return {"source": _read(path)}
    return {"name": problem}


def _candidate_field(path: Path) -> str:
    """Whether a file holds a program or what a model said around it."""
    return "text" if path.suffix.lower() in (".md", ".txt") else "source"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(422, f"{path}: {error}") from error


def _exit_status(verdict: Verdict) -> int:
    if verdict.outcome in (Outcome.CORRECT, Outcome.BUILT):
        return EXIT_CORRECT
    return EXIT_UNSCORED if verdict.outcome is Outcome.UNSCORED else EXIT_SCORED
