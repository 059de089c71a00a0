"""Compares the device code of two modules, kernel by kernel.

`cuobjdump -sass` shows each function that a module's fat binaries hold. Names with internal
linkage carry a hash of the file in nvcc's own builds (`_GLOBAL__N__<hash>...`, `_INTERNAL_...`)
and the name of an inline namespace (`rs_local_<n>`) in the split rung's; these components are
replaced by a mark, in names and in references alike.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FUNCTION = re.compile(r"^\s*Function : (\S+)", re.MULTILINE)
_END = re.compile(r"^Fatbin |^\s*\.{5,}", re.MULTILINE)
_LENGTH = re.compile(r"\d+")
_LOCAL = re.compile(r"_GLOBAL__N_|_INTERNAL_|rs_local_\d+")


class NoToolError(Exception):
    """There is no cuobjdump, or it cannot read a module."""


@dataclass(frozen=True)
class Comparison:
    """What was found."""

    identical: bool
    functions: int
    """Functions in the first module."""
    differences: tuple[str, ...] = ()
    """Names of the functions that differ or that only one module has; at most eight."""


def find_cuobjdump() -> str | None:
    """The program, on the PATH or in the toolkit."""
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return shutil.which("cuobjdump") or shutil.which(f"{home}/bin/cuobjdump")


def compare(first: Path, second: Path) -> Comparison:
    """Compare two modules; raises NoToolError where their code cannot be shown."""
    ours, theirs = sass(first), sass(second)
    differ = sorted({name for name, _ in (ours - theirs) + (theirs - ours)})
    return Comparison(not differ, ours.total(), tuple(differ[:8]))


def sass(module: Path) -> Counter[tuple[str, str]]:
    """Name and code of each function, with the names of internal linkage made equal."""
    program = find_cuobjdump()
    if program is None:
        raise NoToolError("there is no cuobjdump on the PATH or in CUDA_HOME")
    done = subprocess.run(
        [program, "-sass", str(module)], capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode != 0:
        raise NoToolError(f"cuobjdump: {(done.stderr or done.stdout).strip()[-300:]}")
    return Counter(functions(done.stdout))


def functions(listing: str) -> Iterator[tuple[str, str]]:
    """The functions in cuobjdump's listing."""
    heads = list(_FUNCTION.finditer(listing))
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        text = listing[head.end() : following.start() if following else len(listing)]
        body = _END.split(text)[0]
        lines = [" ".join(line.split()) for line in body.splitlines() if line.strip()]
        yield plain(head[1]), plain("\n".join(lines))


def plain(text: str) -> str:
    """`text` with each component of a mangled name that is of internal linkage replaced.

    A component is its length in digits and then so many characters; the digits before a hash may
    be the end of a longer number, so each suffix of a run of digits is tried.
    """
    out, at, look = [], 0, 0
    while (run := _LENGTH.search(text, look)) is not None:
        look = run.end()
        for start in range(run.start(), run.end()):
            length = int(text[start : run.end()])
            component = text[run.end() : run.end() + length]
            if len(component) == length and _LOCAL.match(component):
                out += [text[at:start], "@"]
                at = look = run.end() + length
                break
    return "".join([*out, text[at:]])
