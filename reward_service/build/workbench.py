"""Where a build's commands run: a directory of sources that they read, and one of what they made.

Every command is sandboxed with a user id and a scratch directory of its own, and reads the
toolchain, and the sources from a directory that it cannot write, and nothing else. What it made
is taken out by us as a plain file of its user's and handed to later commands in the same way, so
that no command can touch another's work. The bounds on time hold for all commands of a build
together.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from reward_service.build import diagnose
from reward_service.build.toolchain import Toolchain
from reward_service.errors import InfrastructureError, PrerequisiteError
from reward_service.findings import Finding
from reward_service.sandbox.box import Boxes
from reward_service.sandbox.confine import Confinement, Limits
from reward_service.sandbox.run import Completed, run
from reward_service.schemas import Reason

MODULE = "module.so"
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
class Command:
    """A command line without its `-o`, and the file that it leaves in the directory of objects."""

    argv: tuple[str, ...]
    output: str


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    finding: Finding | None
    """Why it failed; None: its output is there."""
    log: str
    """What it said, with the build's own directories taken off the paths."""


@dataclass(frozen=True)
class Compiled:
    """A finished module; the file lasts as long as the workbench it came from."""

    module: Path
    path: Literal["split", "stock"]
    """The rung that made it."""


class _StopError(Exception):
    """Another command of the same build has failed."""


class Workbench:
    """One build's directories and commands. Use `open`."""

    def __init__(
        self,
        toolchain: Toolchain,
        boxes: Boxes,
        bounds: Bounds,
        folder: Path,
        trees: Sequence[str],
        poll: Callable[[], None],
    ) -> None:
        self.sources = folder / "sources"
        self.objects = folder / "objects"
        self._boxes = boxes
        self._bounds = bounds
        self._includes = (*toolchain.includes, *toolchain.cuda_includes)
        self._trees = (*trees, str(self.sources), str(self.objects))
        self._path = _path(toolchain)
        self._poll = poll
        self._begun = time.monotonic()
        self._log: list[str] = []
        self._own_files: Mapping[str, int] = {}
        for path in (self.sources, self.objects):
            path.mkdir()
            path.chmod(0o755)

    @classmethod
    @contextlib.contextmanager
    def open(
        cls,
        toolchain: Toolchain,
        boxes: Boxes,
        bounds: Bounds,
        *,
        trees: Sequence[str],
        poll: Callable[[], None],
    ) -> Iterator[Workbench]:
        """A workbench whose commands read `trees`; gone with all that was made at the end.

        What `poll` raises ends the commands and is raised again.
        """
        with tempfile.TemporaryDirectory(dir=boxes.folder, prefix="build-") as name:
            folder = Path(name)
            folder.chmod(0o755)
            yield cls(toolchain, boxes, bounds, folder, trees, poll)

    @property
    def seconds(self) -> float:
        """Since the workbench was opened."""
        return time.monotonic() - self._begun

    @property
    def log(self) -> str:
        """What all commands have said."""
        return "".join(self._log)

    def write(self, files: Mapping[str, str], own: Mapping[str, int]) -> None:
        """Write sources; `own` are the candidate's file names, and how many lines of ours lie
        before its own in each, for its lines in messages."""
        self._own_files = {**self._own_files, **own}
        for name, text in files.items():
            path = self.sources / name
            for parent in reversed(path.relative_to(self.sources).parents):
                (self.sources / parent).mkdir(exist_ok=True)
                (self.sources / parent).chmod(0o755)
            path.write_text(text, encoding="utf-8", newline="")
            path.chmod(0o644)

    def run_all(self, commands: Sequence[Command], *, together: bool) -> list[Ended | None]:
        """Run commands side by side. `together`: where one fails the others are ended, and are
        None in the result unless they had ended by themselves."""
        failed = threading.Event()

        def one(command: Command) -> Ended | None:
            def look() -> None:
                self._poll()
                if failed.is_set() and together:
                    raise _StopError

            ended_well = False
            try:
                ended = self._run(command, look)
                ended_well = ended.finding is None
                return ended
            except _StopError:
                return None
            finally:
                if not ended_well:
                    failed.set()

        with ThreadPoolExecutor(len(commands) or 1) as threads:
            return [job.result() for job in [threads.submit(one, c) for c in commands]]

    def run(self, command: Command) -> Ended:
        """Run one command."""
        return self._run(command, self._poll)

    def _run(self, command: Command, look: Callable[[], None]) -> Ended:
        limits = Limits(
            cpu_s=int(self._bounds.timeout_s) + 1,
            file_bytes=self._bounds.output_bytes,
            processes=_PROCESSES,
            open_files=_OPEN_FILES,
        )
        with self._boxes.open(limits) as box:
            assert box.scratch is not None
            made = box.scratch / command.output
            done = run(
                [*command.argv, "-o", str(made)],
                confinement=replace(box, reads=self._trees),
                cwd=self.sources,
                env=self._environment(box),
                timeout_s=self._bounds.timeout_s - self.seconds,
                output_limit_bytes=_LOG_BYTES,
                memory_bytes=self._bounds.memory_bytes,
                poll=look,
            )
            folders = [str(self.sources), str(self.objects), str(box.scratch)]
            told = diagnose.readable(done.output_tail, folders)
            done = replace(done, output_tail=diagnose.own_lines(told, self._own_files))
            if done.output_tail:
                self._log.append(f"{done.output_tail.rstrip()}\n")
            return Ended(self._keep(done, box, made, command.output), done.output_tail)

    def _keep(self, done: Completed, box: Confinement, made: Path, output: str) -> Finding | None:
        ended_well = done.returncode == 0 and not done.timed_out and done.limit is None
        if not ended_well:
            self._blame_machine(done)
            return diagnose.failure(done, self._own_files, self._bounds.timeout_s)
        if not _take(made, self.objects / output, box.uid, self._bounds.output_bytes):
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
        if shutil.disk_usage(self.objects).free < self._bounds.output_bytes:
            raise InfrastructureError(f"the disk of {self.objects} is full")

    def _environment(self, box: Confinement) -> dict[str, str]:
        """Compilers look for their parts on the PATH and write temporary files."""
        scratch = str(box.scratch)
        return {"PATH": self._path, "LC_ALL": "C", "HOME": scratch, "TMPDIR": scratch}


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
