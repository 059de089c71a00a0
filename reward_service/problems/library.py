"""Finds problems by name and reads their source.

The built-in suite lies beside this module and is named by path: `level1/relu`. Further
directories have KernelBench's layout, `level1/1_Square_matrix_multiplication_.py`, named
`level1/1_Square_matrix_multiplication_`; `level1/1` finds it as well. An earlier directory
wins where two hold the same name, and the built-in suite is the earliest.

A problem is somebody's code. This module reads text and parses it with `ast`; it never imports
a problem. Files are read when they are asked for and kept until they change. Whatever else
lies in a directory is passed over, and `skipped` says why.
"""

from __future__ import annotations

import ast
import difflib
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reward_service import schemas
from reward_service.digest import sha256
from reward_service.errors import RequestError

SUITE = Path(__file__).parent / "suite"
REQUIRED = ("Model", "get_inputs", "get_init_inputs")

_LEVEL = re.compile(r"level(\d{1,4})")
_STEM = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_NUMBER = re.compile(r"level\d+/\d+")


@dataclass(frozen=True)
class ProblemSource:
    """The text of one problem."""

    name: str | None
    """None: it came inline with the submission."""
    source: str
    level: int
    title: str
    warnings: tuple[str, ...] = ()
    """What reading the text says against it, such as a missing `get_inputs`."""
    hash: str = field(init=False)
    """SHA-256 of the source, in hex."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "hash", sha256(self.source))

    @property
    def info(self) -> schemas.ProblemInfo:
        """The listing's entry; its title carries the warnings."""
        said = f" (warning: {'; '.join(self.warnings)})" if self.warnings else ""
        return schemas.ProblemInfo(
            name=self.name or "", level=self.level, title=self.title + said, hash=self.hash
        )


class ProblemLibrary:
    """The built-in suite and `extra_dirs`, looked at afresh in each call."""

    def __init__(self, extra_dirs: Sequence[Path] = ()) -> None:
        self._roots = (SUITE, *(Path(d).expanduser() for d in extra_dirs))
        self._cache: dict[Path, tuple[tuple[int, int], ProblemSource]] = {}

    def list(self) -> list[schemas.ProblemInfo]:
        """Every readable problem, sorted by name."""
        problems, _ = self._read_all()
        return [problem.info for problem in problems]

    def skipped(self) -> dict[Path, str]:
        """The files and directories that hold no problem though they might, and why."""
        _, skipped = self._read_all()
        return skipped

    def resolve(self, problem: schemas.Problem) -> ProblemSource:
        """The source of the problem that a submission names or brings.

        Raises `RequestError` 422 with the closest names where the name is unknown.
        """
        if problem.source is not None:
            # Not parsed: a megabyte made for it costs seconds and a gigabyte, in our own process.
            return ProblemSource(None, problem.source, 0, "inline")
        assert problem.name is not None
        paths, _ = self._scan()
        name = _full_name(problem.name, paths)
        try:
            return self._read(name, paths[name])
        except _UnreadableError as error:
            message = f"problem {name!r} cannot be read: {error}"
            raise RequestError(422, message, field="problem.name") from error

    def _scan(self) -> tuple[dict[str, Path], dict[Path, str]]:
        """Path of each problem by name, and what was passed over; reads no file."""
        paths: dict[str, Path] = {}
        skipped: dict[Path, str] = {}
        for root in self._roots:
            try:
                levels = sorted(d for d in root.iterdir() if _LEVEL.fullmatch(d.name))
                files = [file for level in levels if level.is_dir() for file in _files(level)]
            except OSError as error:
                skipped[root] = error.strerror or str(error)
                continue
            for file in files:
                name = f"{file.parent.name}/{file.stem}"
                if not _STEM.fullmatch(file.stem):
                    skipped[file] = "its name has characters other than letters, digits and _.-"
                elif name in paths:
                    skipped[file] = f"{paths[name]} has the same name and comes first"
                else:
                    paths[name] = file
        return paths, skipped

    def _read_all(self) -> tuple[Sequence[ProblemSource], dict[Path, str]]:
        paths, skipped = self._scan()
        problems = []
        for name in sorted(paths):
            try:
                problems.append(self._read(name, paths[name]))
            except _UnreadableError as error:
                skipped[paths[name]] = str(error)
        return problems, skipped

    def _read(self, name: str, path: Path) -> ProblemSource:
        try:
            stat = path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size)
            cached = self._cache.get(path)
            if cached is not None and cached[0] == stamp:
                return cached[1]
            if stat.st_size > schemas.MAX_SOURCE_CHARS:
                raise _UnreadableError(f"larger than {schemas.MAX_SOURCE_CHARS} bytes")
            source = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise _UnreadableError(f"not UTF-8 at byte {error.start}") from error
        except OSError as error:
            raise _UnreadableError(error.strerror or str(error)) from error
        match = _LEVEL.fullmatch(path.parent.name)
        assert match is not None
        problem = _parse(source, name, int(match[1]), _title_of(path.stem))
        self._cache[path] = (stamp, problem)
        return problem


class _UnreadableError(Exception):
    """A file that should hold a problem cannot be read as text."""


def _files(level: Path) -> list[Path]:
    files = (f for f in level.iterdir() if f.suffix == ".py" and not f.name.startswith(("_", ".")))
    return sorted(f for f in files if f.is_file())


def _title_of(stem: str) -> str:
    return re.sub(r"^\d+_", "", stem).replace("_", " ").strip() or stem


def _full_name(name: str, paths: dict[str, Path]) -> str:
    """The listed name that `name` means: itself, or the one with its number."""
    if name in paths:
        return name
    found = [n for n in paths if _NUMBER.fullmatch(name) and n.startswith(f"{name}_")]
    if len(found) == 1:
        return found[0]
    if found:
        hint = f"it could be {' or '.join(found)}"
    elif close := difflib.get_close_matches(name, paths, n=3, cutoff=0.5):
        hint = f"did you mean {' or '.join(close)}?"
    else:
        hint = "/problems lists those that exist"
    raise RequestError(422, f"no problem is named {name!r}; {hint}", field="problem.name")


def _parse(source: str, name: str, level: int, title: str) -> ProblemSource:
    """A problem with its docstring's first line as the title, where it has one."""
    try:
        # A foreign file's invalid escapes are its own affair, not a warning of this process.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        said = f"it does not parse: {str(error) or type(error).__name__}"
        return ProblemSource(name, source, level, title, (said,))
    missing = [required for required in REQUIRED if required not in _bound_names(tree)]
    docstring = (ast.get_docstring(tree) or "").strip()
    if docstring:
        title = docstring.splitlines()[0]
    said = f"it defines no {', '.join(missing)}"
    return ProblemSource(name, source, level, title, (said,) if missing else ())


def _bound_names(tree: ast.Module) -> set[str]:
    """Names that any statement binds, however deep: enough to say early what is missing."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
    return names
