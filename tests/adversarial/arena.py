"""Lets candidates meet our service and the weak harness."""

from __future__ import annotations

import contextlib
import os
import resource
import shlex
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reward_service.build.stage import BuildStage
from reward_service.build.store import open_store
from reward_service.errors import InfrastructureError
from reward_service.findings import Built, Context, Finding
from reward_service.formats import kernelbench
from reward_service.sandbox import processes
from reward_service.schemas import Reason, Submission
from reward_service.settings import Settings
from reward_service.worker.supervisor import CANDIDATE_SLOTS, Supervisor
from tests.adversarial.fixture import Case, Device, Fixture, Which
from tests.adversarial.weak import Seen, run_weakly

WEAK_LIMIT_S = 60.0
HANG_S = 4.0
"""Patience of the weak harness with a cheat that is to hang it."""
DEADLINE_S = 120.0
TIGHT = {"build_timeout_s": 8.0, "build_memory_bytes": 512 << 20, "build_output_bytes": 4 << 20}
"""For bombs: limits that are a matter of seconds."""
PLAIN_MEMORY_BYTES = 4 << 30
"""Of the plain compiler that attacks on builds must beat."""


@dataclass(frozen=True)
class Met:
    """What our service made of a candidate."""

    reason: Reason | None
    """None: correct."""
    message: str
    speedup_low: float | None
    seconds: float
    log: str = ""
    """The build's."""


@dataclass(frozen=True)
class Arena:
    """Our service on one device."""

    settings: Settings
    builder: BuildStage
    tight_builder: BuildStage
    supervisor: Supervisor
    device: Device

    def meet(self, case: Case, which: Which) -> Met:
        """Evaluate a candidate as the service does, from the build on."""
        submission = submission_of(case, which, self.device)
        problem = case.problem_source()
        context = Context(id=uuid.uuid4().hex, deadline=time.time() + DEADLINE_S)
        begun = time.monotonic()

        def met(failure: Finding | None, low: float | None = None, log: str = "") -> Met:
            took = time.monotonic() - begun
            if failure is None:
                return Met(None, "", low, took, log)
            return Met(failure.reason, failure.message, None, took, log)

        try:
            builder = self.tight_builder if case.tight else self.builder
            built = builder(submission, problem, context)
            if isinstance(built, Finding):
                return met(built, log=built.build.log_tail if built.build else "")
            judgement = self.supervisor.judge(submission, problem, built, context)
        except InfrastructureError as error:
            return met(Finding(error.reason, str(error)))
        speedup = judgement.speedup
        return met(judgement.failure, speedup.low if speedup else None, built.report.log_tail)

    def left_behind(self) -> list[str]:
        """Processes and files of users that foreign code has had, beside the references'."""
        base = self.settings.runner_uid_base
        ours = set(range(base, base + 256)) - set(self.supervisor._uids[CANDIDATE_SLOTS:])
        found = [f"process {p.pid}" for p in processes.live() if ours & set(p.uids)]
        for folder in map(Path, ("/dev/shm", "/tmp", "/var/tmp")):
            found += [str(path) for path in folder.iterdir() if _owner(path) in ours]
        return found

    def fool(self, fixture: Fixture) -> Seen | None:
        """Let the cheat meet the weak harness; what that saw, if it saw anything."""
        problem, source = fixture.problem_source(), fixture.source("cheat", self.device)
        limit = HANG_S if fixture.weak == "hangs" else WEAK_LIMIT_S
        if fixture.weak in ("builds", "overruns"):
            return compile_plainly(source, HANG_S if fixture.weak == "overruns" else limit)
        extensions: dict[str, str] = {}
        built = self.builder(
            submission_of(fixture, "cheat", self.device),
            problem,
            Context(id=uuid.uuid4().hex, deadline=time.time() + DEADLINE_S),
        )
        if isinstance(built, Built):
            store = open_store(self.settings)
            extensions = {call: str(store.get(key)) for call, key in built.artifacts.items()}
        return run_weakly(problem, source, extensions, self.device, limit)


@contextlib.contextmanager
def open_arena(settings: Settings, device: Device) -> Iterator[Arena]:
    """Our service, with shorter measurements than usual."""
    quick = settings.model_copy(update={"timing_budget_s": 0.3, "runner_memory_bytes": 2 << 30})
    with (
        BuildStage(quick) as builder,
        BuildStage(quick.model_copy(update=TIGHT), prepare=False) as tight_builder,
        Supervisor(quick, "cpu" if device == "cpu" else "cuda:0") as supervisor,
    ):
        yield Arena(quick, builder, tight_builder, supervisor, device)


def submission_of(case: Case, which: Which, device: Device) -> Submission:
    """A candidate of a case, as its author would submit it."""
    return Submission.model_validate(
        {
            "problem": {"source": case.problem_source()},
            "candidate": {"source": case.source(which, device)},
            "policy": {"library": "allow", "time_limit_s": 2.0, **case.policy},
        }
    )


@contextlib.contextmanager
def planted(fixture: Fixture) -> Iterator[None]:
    """The fixture's secret is there and its trace is not; both are gone afterwards."""
    fixture.trace_path.unlink(missing_ok=True)
    if fixture.secret:
        fixture.secret_path.write_text("#define ANSWER 1234567\n")
        fixture.secret_path.chmod(0o644)
    try:
        yield
    finally:
        fixture.secret_path.unlink(missing_ok=True)
        fixture.trace_path.unlink(missing_ok=True)


def compile_plainly(source: str, limit_s: float) -> Seen | None:
    """Build the first extension of a candidate as its author would, with no sandbox.

    None where the compiler does not end in time, or takes all the memory that it may.
    """
    extraction = kernelbench.extract(source)
    assert not isinstance(extraction, Finding), extraction
    (call, *_) = extraction.calls
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for number, text in enumerate(call.cpp_sources):
            names.append(f"{number}.cpp")
            (Path(folder) / names[-1]).write_text(text)
        flags = shlex.split(" ".join(call.extra_cflags))  # as a shell would
        command = ["g++", "-shared", "-fPIC", *flags, *names, "-o", "module.so"]
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "LC_ALL": "C"},
            start_new_session=True,
            preexec_fn=_limit_memory,
        )
        try:
            _, said = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # the driver and its compiler
            process.communicate()
            return None
        if "virtual memory exhausted" in said:
            return None
        return Seen(process.returncode == 0, None, said[-1_000:] or None)


def _owner(path: Path) -> int | None:
    with contextlib.suppress(FileNotFoundError):
        return path.lstat().st_uid
    return None


def _limit_memory() -> None:
    """The tests' own machine is not to be a victim."""
    resource.setrlimit(resource.RLIMIT_AS, (PLAIN_MEMORY_BYTES, PLAIN_MEMORY_BYTES))
