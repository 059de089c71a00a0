"""Everything here needs a GPU; one judge and one store of built modules serve all tests."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from reward_service.build.stage import BuildStage
from reward_service.findings import Built, Context, Finding, Judgement
from reward_service.problems.library import ProblemLibrary
from reward_service.schemas import Submission
from reward_service.settings import Settings
from reward_service.worker.supervisor import Supervisor
from tests.conftest import Judge, judge_on

EXAMPLES = Path(__file__).parents[2] / "examples"
_BUILDERS = os.cpu_count() or 1

Evaluate = Callable[[str, Path], Judgement | Finding]


@pytest.fixture(scope="session")
def gpu(settings: Settings) -> Iterator[Supervisor]:
    """The judge of the first GPU."""
    with Supervisor(settings, "cuda:0") as running:
        yield running


@pytest.fixture(scope="session")
def judge_gpu(gpu: Supervisor) -> Judge:
    """Judge a candidate that needs no build, on the GPU."""
    return judge_on(gpu)


def submission_of(problem: str, candidate: Path) -> Submission:
    """An example as a submission with the default policy."""
    return Submission.model_validate(
        {
            "problem": {"name": problem},
            "candidate": {"source": candidate.read_text()},
            "deadline_s": 900,
        }
    )


@pytest.fixture(scope="session")
def built(settings: Settings) -> dict[Path, Built | Finding]:
    """All CUDA examples, built side by side."""
    files = [*EXAMPLES.glob("level*/*/cuda.py"), *EXAMPLES.glob("demo/*_cuda.py")]

    with ProcessPoolExecutor(_BUILDERS, multiprocessing.get_context("spawn")) as pool:
        made = pool.map(build, itertools.repeat(settings), files)
        return dict(zip(files, made, strict=True))


def build(settings: Settings, file: Path) -> Built | Finding:
    """Build one example, in a process of its own as a builder is."""
    submission = submission_of(problem_of(file), file)
    source = ProblemLibrary().resolve(submission.problem).source
    context = Context(id=uuid.uuid4().hex, deadline=time.time() + 900)
    with BuildStage(settings) as stage:
        return stage(submission, source, context)


@pytest.fixture(scope="session")
def evaluate(gpu: Supervisor, built: dict[Path, Built | Finding]) -> Evaluate:
    """Judge an example."""

    def evaluate(problem: str, file: Path) -> Judgement | Finding:
        made = built[file]
        if isinstance(made, Finding):
            return made
        submission = submission_of(problem, file)
        source = ProblemLibrary().resolve(submission.problem).source
        context = Context(id=uuid.uuid4().hex, deadline=time.time() + 300)
        return gpu.judge(submission, source, made, context)

    return evaluate


def problem_of(file: Path) -> str:
    """The problem that an example is for."""
    folder = file.parent.relative_to(EXAMPLES)
    return "level2/hardswish_chain" if folder.name == "demo" else folder.as_posix()
