"""Runs a build plan in the sandbox: its compiles side by side, then the link.

Every command has a user id and a scratch directory of its own, and reads the sources from a
directory that it cannot write. What it made is taken out by us as a plain file of its user's and
handed to the link in the same way, so that no command can touch another's work. Where one
compile fails, the others are ended.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from reward_service.build import diagnose
from reward_service.build.stock import Plan
from reward_service.build.toolchain import Toolchain
from reward_service.errors import InfrastructureError, PrerequisiteError
from reward_service.findings import Finding
from reward_service.sandbox.box import Boxes
from reward_service.sandbox.confine import Confinement, Limits
from reward_service.sandbox.run import Completed, run
from reward_service.schemas import BuildReport, Reason

_LOG_BYTES = 1 << 20
_PROCESSES = 64
_OPEN_FILES = 512


@dataclass(frozen=True)
class Bounds:
    """What one build may use."""

    timeout_s: float
    """Wall time of all its commands together."""
    memory_bytes: int
    output_bytes: int


@dataclass(frozen=True)
class Compiled:
    """A finished module; the file lasts as long as the context it came from."""

    module: Path
    log: str
    seconds: float


class _StopError(Exception):
    """Another command of the same build has failed."""


@contextlib.contextmanager
def compiled(
    plan: Plan,
    toolchain: Toolchain,
    boxes: Boxes,
    bounds: Bounds,
    *,
    cuda: bool,
    poll: Callable[[], None],
) -> Iterator[Compiled | Finding]:
    """Build `plan`; yields the module, or a Finding with its report for a candidate that failed.

    What `poll` raises ends the commands and is raised again.
    """
    with tempfile.TemporaryDirectory(dir=boxes.folder, prefix="build-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield _Build(plan, toolchain, boxes, bounds, folder, cuda, poll).make()


class _Build:
    def __init__(
        self,
        plan: Plan,
        toolchain: Toolchain,
        boxes: Boxes,
        bounds: Bounds,
        folder: Path,
        cuda: bool,
        poll: Callable[[], None],
    ) -> None:
        self._plan = plan
        self._boxes = boxes
        self._bounds = bounds
        self._sources = folder / "sources"
        self._objects = folder / "objects"
        self._includes = (*toolchain.includes, *toolchain.cuda_includes)
        self._trees = [*toolchain.trees(cuda=cuda), str(self._sources), str(self._objects)]
        self._path = _path(toolchain)
        self._poll = poll
        self._failed = threading.Event()
        self._begun = time.monotonic()
        self._log: list[str] = []

    def make(self) -> Compiled | Finding:
        """Write the sources, run the commands."""
        self._lay_out()
        with ThreadPoolExecutor(len(self._plan.units) or 1) as threads:
            jobs = [
                threads.submit(self._command, unit.argv, unit.object) for unit in self._plan.units
            ]
        findings = []
        for job in jobs:
            with contextlib.suppress(_StopError):
                if (finding := job.result()) is not None:
                    findings.append(finding)
        if findings:
            return self._report(findings[0])
        program, *rest = self._plan.link
        objects = [str(self._objects / unit.object) for unit in self._plan.units]
        finding = self._command((program, *objects, *rest), "module.so")
        if finding is not None:
            return self._report(finding)
        log = "".join(self._log)
        return Compiled(self._objects / "module.so", log, time.monotonic() - self._begun)

    def _lay_out(self) -> None:
        for folder in (self._sources, self._objects):
            folder.mkdir()
            folder.chmod(0o755)
        for name, text in self._plan.files.items():
            path = self._sources / name
            for parent in reversed(path.relative_to(self._sources).parents):
                (self._sources / parent).mkdir(exist_ok=True)
                (self._sources / parent).chmod(0o755)
            path.write_text(text, encoding="utf-8", newline="")
            path.chmod(0o644)

    def _command(self, argv: tuple[str, ...], output: str) -> Finding | None:
        """Run one command that writes `output`; keep that, or say why there is none, and then
        have the others end."""
        ended_well = False
        try:
            finding = self._run(argv, output)
            ended_well = finding is None
            return finding
        finally:
            if not ended_well:
                self._failed.set()

    def _run(self, argv: tuple[str, ...], output: str) -> Finding | None:
        limits = Limits(
            cpu_s=int(self._bounds.timeout_s) + 1,
            file_bytes=self._bounds.output_bytes,
            processes=_PROCESSES,
            open_files=_OPEN_FILES,
        )
        with self._boxes.open(limits) as box:
            assert box.scratch is not None
            made = box.scratch / output
            done = run(
                [*argv, "-o", str(made)],
                confinement=box,
                cwd=self._sources,
                env=self._environment(box),
                timeout_s=self._bounds.timeout_s - (time.monotonic() - self._begun),
                output_limit_bytes=_LOG_BYTES,
                memory_bytes=self._bounds.memory_bytes,
                exposed=self._trees,
                poll=self._look,
            )
            folders = [str(self._sources), str(self._objects), str(box.scratch)]
            done = replace(done, output_tail=diagnose.readable(done.output_tail, folders))
            if done.output_tail:
                self._log.append(f"{done.output_tail.rstrip()}\n")
            return self._keep(done, box, made, output)

    def _keep(self, done: Completed, box: Confinement, made: Path, output: str) -> Finding | None:
        ended_well = done.returncode == 0 and not done.timed_out and done.limit is None
        if not ended_well:
            self._blame_machine(done)
            return diagnose.failure(done, self._plan.sources, self._bounds.timeout_s)
        if not _take(made, self._objects / output, box.uid, self._bounds.output_bytes):
            return Finding(Reason.BUILD_FAILED, f"the compiler left no {output}")
        return None

    def _blame_machine(self, done: Completed) -> None:
        """Raise if the command failed by what this machine lacks."""
        if (lacking := diagnose.missing_header(done, self._includes)) is not None:
            header, asking = lacking
            raise PrerequisiteError(
                f"{asking} of the toolchain includes {header}, which is not on this machine",
                "install the CUDA toolkit's library headers (cuBLAS, cuSPARSE, cuSOLVER, cuRAND)",
            )
        if done.returncode == -signal.SIGKILL and not done.timed_out and done.limit is None:
            raise InfrastructureError("something outside of the build killed a compiler")
        if shutil.disk_usage(self._objects).free < self._bounds.output_bytes:
            raise InfrastructureError(f"the disk of {self._objects} is full")

    def _look(self) -> None:
        self._poll()
        if self._failed.is_set():
            raise _StopError

    def _environment(self, box: Confinement) -> dict[str, str]:
        """Compilers look for their parts on the PATH and write temporary files."""
        scratch = str(box.scratch)
        return {"PATH": self._path, "LC_ALL": "C", "HOME": scratch, "TMPDIR": scratch}

    def _report(self, finding: Finding) -> Finding:
        log = diagnose.log_tail("".join(self._log))
        seconds = time.monotonic() - self._begun
        return replace(finding, build=BuildReport(path="stock", seconds=seconds, log_tail=log))


def _path(toolchain: Toolchain) -> str:
    programs = [p for p in (toolchain.cxx, toolchain.nvcc) if p is not None]
    folders = [os.path.dirname(p) for p in programs]
    return ":".join(dict.fromkeys([*folders, "/usr/local/bin", "/usr/bin", "/bin"]))


def _take(made: Path, to: Path, uid: int | None, max_bytes: int) -> bool:
    """Copy a plain file that `uid` made; anything else at its place is not taken."""
    try:
        fd = os.open(made, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    with os.fdopen(fd, "rb") as file:
        info = os.fstat(fd)
        plain = stat.S_ISREG(info.st_mode) and info.st_nlink == 1 and info.st_size <= max_bytes
        if not plain or (uid is not None and info.st_uid != uid):
            return False
        with to.open("wb") as out:
            shutil.copyfileobj(file, out)
    to.chmod(0o644)
    return True
