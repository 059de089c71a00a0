"""Turns what compilers say into what a candidate is told."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Mapping
from pathlib import Path

from reward_service.findings import Finding
from reward_service.sandbox.run import Completed
from reward_service.schemas import MAX_LOG_CHARS, Reason

_ERROR = re.compile(
    r"\berror\b|undefined reference|undefined symbol|multiple definition|fatal", re.IGNORECASE
)
_SIGNAL = re.compile(
    r"^[\w./+-]+: (?:fatal error|internal compiler error|error): .*"
    r"(?P<what>CPU time limit exceeded|File size limit exceeded|Killed|Terminated)",
    re.MULTILINE,
)
_DIED = re.compile(r"'\w[\w+]*' died due to signal (\d+)")
_BY_SIGNAL = {9: "Killed", int(signal.SIGXCPU): "CPU", int(signal.SIGXFSZ): "File"}
_MISSING = re.compile(
    r"^(?P<file>/[^:\n]+):\d+:\d+: fatal error: (?P<header>[\w./-]+): No such file", re.MULTILINE
)
_NO_MEMORY = re.compile(
    r"^[\w./+-]+: (?:out of memory|virtual memory exhausted|.*Cannot allocate memory)|"
    r"std::bad_alloc",
    re.MULTILINE,
)
_TOO_LARGE = re.compile(r"File too large|file size limit", re.IGNORECASE)
_MAX_LINES = 4


def failure(done: Completed, sources: Iterable[str], timeout_s: float) -> Finding:
    """Why a command that did not succeed failed; `sources` are the candidate's own files."""
    told = _SIGNAL.search(done.output_tail)
    what = told["what"] if told is not None else ""
    if died := _DIED.search(done.output_tail):
        what = _BY_SIGNAL.get(int(died[1]), what)
    if done.timed_out or done.limit == "cpu" or what.startswith("CPU"):
        return Finding(Reason.BUILD_TIMEOUT, f"the build took longer than {timeout_s:g} s")
    if done.limit == "memory" or what == "Killed" or _NO_MEMORY.search(done.output_tail):
        return Finding(Reason.BUILD_LIMIT, "the build used too much memory")
    large = done.limit == "file_size" or what.startswith("File")
    if large or _TOO_LARGE.search(done.output_tail):
        return Finding(Reason.BUILD_LIMIT, "the build wrote a file that is too large")
    return Finding(Reason.BUILD_FAILED, first_errors(done, sources))


def own_lines(text: str, sources: Mapping[str, int]) -> str:
    """A log with the candidate's own line numbers; `sources` has, by file, the number of lines that
    are not the candidate's and lie before its own."""
    for name, before in sources.items():
        if before:
            place = re.compile(rf"(?P<head>(?:^|(?<=[\s/\"])){re.escape(name)}[:(])(?P<line>\d+)")
            text = place.sub(lambda m, n=before: f"{m['head']}{max(int(m['line']) - n, 1)}", text)  # type: ignore[misc]
    return text


def missing_header(done: Completed, includes: Iterable[str]) -> tuple[str, str] | None:
    """The header and the file that asks for it, where one of the toolchain's own files asks for
    what this machine does not have: that is no fault of a candidate."""
    for told in _MISSING.finditer(done.output_tail):
        asking, header = Path(told["file"]), told["header"]
        ours = [Path(p) for p in includes]
        if (
            any(asking.is_relative_to(p) for p in ours)
            and asking.is_file()
            and header in asking.read_text(errors="replace")
            and not any((p / header).exists() for p in ours)
        ):
            return header, asking.name
    return None


def first_errors(done: Completed, sources: Iterable[str]) -> str:
    """The first lines that report an error in one of `sources`; else the first errors; else the
    end of what was said."""
    names = "|".join(re.escape(name) for name in sources)
    own = re.compile(rf"(^|[\s/\"]){names and f'(?:{names})'}[:(]\d+")
    lines = [line.rstrip() for line in done.output_tail.splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR.search(line)]
    named = [line for line in errors if own.search(line)] if names else []
    chosen = named or errors or lines[-_MAX_LINES:]
    if not chosen:
        return f"the compiler ended with status {done.returncode} and said nothing"
    return "\n".join(line[:400] for line in chosen[:_MAX_LINES])


def readable(log: str, folders: Iterable[str]) -> str:
    """The log with the names of `folders` taken off the paths."""
    for folder in sorted(folders, key=len, reverse=True):
        log = log.replace(f"{folder}/", "").replace(folder, ".")
    return log


def log_tail(log: str) -> str:
    """As much of the end of a log as a verdict holds, from the start of a line on."""
    if len(log) <= MAX_LOG_CHARS:
        return log
    tail = log[-MAX_LOG_CHARS:]
    return tail.partition("\n")[2] or tail
