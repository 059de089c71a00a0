"""Whether a failed pass over a C++ source is the candidate's fault.

That pass is the stock rung's in compiler, flags and headers, but for what <torch/extension.h>
holds and our prefix does not: pybind11, torch::nn and the like. So an error is final unless it may
come from one of the words that are lacking. Where another compiler than the stock rung's has
spoken, only what no compiler takes is final: bad syntax and names that nobody declares.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from reward_service.build.blame import Fall, Final

_ERROR = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):\d+: (?:fatal )?error: (?P<told>.*)$", re.MULTILINE
)
_QUOTED = re.compile(r"'([^']*)'")
_WORD = re.compile(r"[A-Za-z_]\w*")
_ANY_COMPILER = re.compile(r"expected |use of undeclared identifier ")
_BINDING = frozenset({"py", "pybind11"})
_MOST = 4


def judge(
    log: str, sources: Mapping[str, str], lacking: Collection[str], *, same_compiler: bool = True
) -> Final | Fall:
    """Whose fault a failed pass is.

    `sources`: the text given to it, by the name that its `#line` directives use; `lacking`: every
    word that the stock rung's headers hold and the pass's do not. One doubtful error makes all
    doubtful, because others may follow from it.
    """
    own = []
    for error in _ERROR.finditer(log):
        name, number = error["file"].rpartition("/")[2], int(error["line"])
        lines = sources.get(name, "").splitlines()
        if error["told"].partition(":")[0] in sources and "No such file" in error["told"]:
            return Fall(f"{name} includes a source: {error['told'][:160]}")
        if not 1 <= number <= len(lines):
            return Fall(f"{name}: {error['told'][:160]}")
        named = " ".join(_QUOTED.findall(error["told"]))
        words = set(_WORD.findall(f"{lines[number - 1]} {named}"))
        if unknown := (words & _BINDING) | words.intersection(lacking):
            return Fall(f"{min(unknown)} in line {number}: {error['told'][:160]}")
        if not same_compiler and not _ANY_COMPILER.match(error["told"]):
            return Fall(f"{name}: {error['told'][:160]}")
        own.append(f"{name}{error[0].removeprefix(error['file'])}"[:400])
    if not own:
        return Fall(log.strip().rpartition("\n")[2][:160] or "the compiler said nothing")
    return Final("\n".join(own[:_MOST]))
