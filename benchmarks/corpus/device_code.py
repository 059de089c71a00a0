"""Compares the device code of two modules, kernel by kernel.

`cuobjdump -sass` shows each function that a module's fat binaries hold. Two things are no
difference of the code, and are taken out on both sides:

- Names with internal linkage carry a hash of the file in nvcc's own builds
  (`_GLOBAL__N__<hash>...`, `_INTERNAL_...`) or, if `static`, nothing, and an inline namespace
  (`rs_local_<n>`) in the split rung's. Names are demangled and these parts of them left out.
- Constant bank 4 is the table of the addresses of a module's globals. The place of an entry
  depends on the others, such as what torch's headers define. Entries are numbered by their first
  use in a function.
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

_FUNCTION = re.compile(r"^\s*Function : (.+)$", re.MULTILINE)
_END = re.compile(r"^Fatbin |^\s*\.{5,}", re.MULTILINE)
_LENGTH = re.compile(r"\d+")
_LOCAL = re.compile(r"_GLOBAL__N_|_INTERNAL_|rs_local_\d+")
_MARK = "14rs_of_one_file"
_ADDRESS = re.compile(r"c\[0x4\]\[0x[0-9a-f]+\]")
_ENCODING = re.compile(r"/\* 0x[0-9a-f]{16} \*/")


class NoToolError(Exception):
    """There is no cuobjdump or c++filt, or it cannot read a module."""


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
    """Name and code of each function, without what is no difference of the code."""
    program = find_cuobjdump()
    if program is None:
        raise NoToolError("there is no cuobjdump on the PATH or in CUDA_HOME")
    return Counter(functions(demangled(_said([program, "-sass", str(module)]))))


def demangled(listing: str) -> str:
    """A listing with its names as in C++, without their parts of internal linkage."""
    return _said(["c++filt"], plain(listing)).replace("rs_of_one_file::", "")


def _said(command: list[str], given: str = "") -> str:
    try:
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, timeout=600, check=False
        )
    except FileNotFoundError as error:
        raise NoToolError(f"{error.filename} is not on the PATH") from error
    if done.returncode != 0:
        raise NoToolError(f"{command[0]}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def functions(listing: str) -> Iterator[tuple[str, str]]:
    """The functions in cuobjdump's listing."""
    heads = list(_FUNCTION.finditer(listing))
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        text = listing[head.end() : following.start() if following else len(listing)]
        body = _END.split(text)[0]
        lines = [" ".join(line.split()) for line in body.splitlines() if line.strip()]
        yield head[1], with_numbered_addresses("\n".join(lines))


def with_numbered_addresses(code: str) -> str:
    """A function's code with the entries of bank 4 numbered by their first use; what encodes
    such an instruction holds the place as well, and is left out."""
    numbers: dict[str, int] = {}
    lines = []
    for line in code.splitlines():
        if _ADDRESS.search(line):
            line = _ADDRESS.sub(lambda m: f"c[4][#{numbers.setdefault(m[0], len(numbers))}]", line)
            line = _ENCODING.sub("", line).rstrip()
        lines.append(line)
    return "\n".join(lines)


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
                out += [text[at:start], _MARK]
                at = look = run.end() + length
                break
    return "".join([*out, text[at:]])
