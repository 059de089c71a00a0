from __future__ import annotations
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal
Pass = Literal["device","host","link"]
@dataclass(frozen=True)
class Final:
    message: str
@dataclass(frozen=True)
class Fall:
    reason: str
_WORD = re.compile(r"[A-Za-z_]\w*")
def judge(kind, log, sources, other):
    return Fall("tmp "+log[-400:])
_GXX = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):\d+: (?:fatal )?error: (?P<told>.*)$", re.M)
_QUOTED = re.compile(r"'([^']*)'")
_NOT_OURS = frozenset({"py", "pybind11", "PYBIND11_MODULE"})


def judge_same_compiler(
    log: str, sources: Mapping[str, str], lacking: Collection[str]
) -> Final | Fall:
    """A failed pass by the compiler, the flags and the headers of the stock rung, but for the
    names in `lacking`: final unless one of the errors may come from these.

    One doubtful error makes all doubtful, because others may follow from it.
    """
    own = []
    for error in _GXX.finditer(log):
        lines = sources.get(error["file"], "").splitlines()
        number = int(error["line"])
        if not 1 <= number <= len(lines):
            return Fall(f"{error['file'].rpartition('/')[2]}: {error['told'][:160]}")
        named = " ".join(_QUOTED.findall(error["told"]))
        words = set(_WORD.findall(f"{lines[number - 1]} {named}"))
        if unknown := (words & _NOT_OURS) | words.intersection(lacking):
            return Fall(f"{min(unknown)} in line {number}: {error['told'][:160]}")
        own.append(error[0][:400])
    if not own:
        return Fall(log.strip().rpartition("\n")[2][:160] or "the compiler said nothing")
    return Final("\n".join(own[:4]))
