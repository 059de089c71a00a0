"""Whether a failed pass of the split build is the candidate's fault.

The passes see less than the stock build: the device pass sees stand-ins for torch, the host pass
sees real torch headers but no kernel bodies. So an error counts as the candidate's own only where
the missing part cannot be its cause, and a wrong `Final` is worse than the minute that the stock
build takes to say the same:

- in device code, where nothing in the message or on the line is, or may be, a name of torch or of
  a header that torch brings along (the stand-ins have the real CUDA headers);
- in host code, where device and host pass both report an error on that line, neither of them
  about a name that both may lack;
- from ptxas;
- from the linker, about a function that two sources define.

One doubtful error makes the whole log doubtful, because errors follow from each other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from reward_service.build.device_regions import Lines

_MAX_LINES = 4
_NVCC = re.compile(
    r"^(?P<file>[^\s(][^(\n]*)\((?P<line>\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: "
)
_GNU = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: ")
_NOWHERE = re.compile(r"^At end of source: error|^error(?: #[\w-]+)?: ")
_PTXAS = re.compile(r"^ptxas .*\b(?:error|fatal)\s*:")
_PTXAS_SIZE = re.compile(r"uses too much (?:shared|local|parameter|global constant) ")
_PTXAS_OPEN = re.compile(r"Unresolved extern (?:function|variable) '(\w+)'")

_TORCH = re.compile(
    r"\b(?:torch|at|c10|caffe2|py|pybind11|rs)\s*::|namespace\W+(?:torch|at|c10|caffe2|py)\b|"
    r"\b(?:AT|C10|TORCH|THO|CAFFE2?|PYBIND11)_\w|\b(?:Tensor|IValue)\b|\brs_\w"
)
"""Names that torch's headers, or ours in their place, stand behind."""
_PARTS = re.compile(
    r"\b(?:py|pybind11|rs|jit|nn|autograd|optim|IValue|Library)\b|\brs_|"
    r"namespace\W+\w|in '(?:torch|at|c10)\b|not a member of|no (?:type|template) named"
)
"""Parts of torch that neither pass has whole, and what compilers say of a name that is missing."""
_BROUGHT_ALONG = re.compile(
    r"(?:AT|C10|TORCH|THO|TH[CP]|CAFFE2?|PYBIND11|CU|CUDA|CUDART|CUB|GPU|HIP|NV|PY|FE)_\w+|"
    r"\w*(?i:half|bfloat|bf16|fp\d|complex|accessor|ptrtraits|dispatch|assert|tensor)\w*|"
    r"(?:cu|Py|gpu|fast)[A-Z]\w*|_?_nv_\w+|__h[a-z]\w*|h2?(?:exp|log|r?sqrt|rcp|sin|cos|tanh|ceil|floor|div)\w*|Scalar\w*|k[A-Z]\w*|"
    r"[DPV]?(?:CHECK|LOG)\w*|E[A-Z0-9]{2,}|(?:SIG|SYS_|STD|SEEK_|PTHREAD_)\w+|\w+_FILENO|errno|va_\w+|std|thrust|cub|cuda|nvcuda|cooperative_groups|"
    r"optional|nullopt|string|vector|tuple|irange|IntArrayRef|Device|Dtype"
)
"""Unqualified names that may come from a header that torch includes and the stand-ins do not."""
_INCLUDED_BY = {
    "cub": "cub/",
    "thrust": "thrust/",
    "cuda": "cuda/",
    "nvcuda": "mma.h",
    "wmma": "mma.h",
    "cooperative_groups": "cooperative_groups",
}
_UNDEFINED = re.compile(
    r'identifier "([^"]+)" is undefined|'
    r"(?:undeclared identifier|unknown type name|undeclared template name) '([^']+)'|"
    r"'([^']+)' (?:was not declared|has not been declared|does not name a type)"
)
_DOUBTFUL = re.compile(
    r'must be a class or namespace name|extended[- ]lambda|closure type|has no member "|'
    r"incomplete type|[Nn]o such file|#error|not a template|is not a class or namespace"
)
_NO_MEMBER = re.compile(r'(?:class|struct|union|enum) "([^"]+)" has no member')
_NO_TENSOR_MEMBER = re.compile(
    r"no member named '\w+' in '(?:const )?at::Tensor'|'(?:const )?class at::Tensor' has no member"
)
_OPENED = re.compile(r"using\s+namespace\s+(?:at|torch|c10|std|thrust|cub|cuda)\b")
_QUALIFIER = re.compile(r"(?<!:)\b(\w+)\s*(?:<[^<>]*>)?\s*::")
_QUOTES = str.maketrans("‘’", "''")
_TWICE = re.compile(r"duplicate symbol: (.+)|multiple definition of [`'](.+?)'")
_LINK_ERROR = re.compile(r"ld(?:\.lld)?: error:|undefined reference|multiple definition")
_FUNCTION = re.compile(r"\(|^PyInit_")
_OTHER_MESSAGE = re.compile(r"\S.*(?:\(\d+\)|:\d+):? (?:\d+: )?(?:warning|note|remark)\b")


@dataclass(frozen=True)
class Final:
    """The candidate's own error; `message` is the compiler's about the candidate's lines."""

    message: str


@dataclass(frozen=True)
class Fall:
    """Nobody can tell here: the stock build has to. `reason` is for the build's report."""

    reason: str


@dataclass(frozen=True)
class _Error:
    """One error of a log; `text` holds the lines that belong to it."""

    file: str
    line: int
    """0 where the compiler names none."""
    head: str
    text: str

    @property
    def place(self) -> tuple[str, int]:
        """File and line."""
        return self.file, self.line


def judge(
    kind: Literal["device", "host", "link"],
    log: str,
    sources: Mapping[str, str],
    other: str | None = None,
) -> Final | Fall:
    """Whose fault a failed pass is.

    `log`: all that the pass printed. `sources`: the text given to it, by the name that its `#line`
    directives use. `other`: the log of the other pass of the same file, if that failed too.
    Running out of time or memory is not decided here.
    """
    if kind == "link":
        return _of_link(log)
    device, host = (log, other) if kind == "device" else (other, log)
    if device is None:
        return Fall(f"host pass alone: {_first_line(log)}")
    files = {name: Lines(text) for name, text in sources.items()}
    whole = "\n".join(sources.values())
    errors, heard = _errors(device), _errors(host or "")
    if not errors:
        return _of_ptxas(device, whole)
    missing = {e.place for e in heard if _NO_TENSOR_MEMBER.search(e.text)}
    inside = [e for e in errors if e.file in files and files[e.file].in_device_code(e.line)]
    for error in errors:
        if error in inside:
            doubt = _in_device_code(error, files[error.file].text(error.line), whole)
        else:
            doubt = None if error.place in missing else _in_host_code(error, files, whole)
        if doubt is not None:
            return Fall(f"{doubt}: {error.head}")
    if inside:
        return _final(inside)
    for error in heard:
        doubt = None if error.place in missing else _in_host_code(error, files, whole)
        if doubt is not None:
            return Fall(f"{doubt}: {error.head}")
    agreed = [e for e in errors if any(_same(e, h) for h in heard)]
    return _final(agreed) if agreed else Fall(f"host code, device pass alone: {errors[0].head}")


def _in_device_code(error: _Error, line: str, whole: str) -> str | None:
    """Why the error may not be the candidate's own; None: it is."""
    if _TORCH.search(error.text) or _TORCH.search(line):
        return "a name of torch"
    if any(
        _foreign(found[1], whole)
        for text in (error.head, line)
        for found in _QUALIFIER.finditer(text)
        if found[1] != "std" or text is error.head
    ):
        return "a namespace that a header may bring"
    return _missing_name(error, whole)


def _in_host_code(error: _Error, files: Mapping[str, Lines], whole: str) -> str | None:
    """Why two passes that report the error may both be wrong; None: they are right."""
    if error.line == 0 or error.file not in files:
        return "no line of the candidate's"
    if _PARTS.search(error.head):
        return "a part of torch"
    undefined = _undefined(error)
    if undefined is not None:
        line = files[error.file].text(error.line)
        # A variable or a launched kernel is the candidate's; a function or type may be anyone's.
        if re.search(rf"\b{re.escape(undefined)}\s*(?:\(|::|\w|[*&]\s*\w|<(?!<))", line):
            return "a function or type that a header may bring"
    return _missing_name(error, whole)


def _undefined(error: _Error) -> str | None:
    """The name that the error says is not declared."""
    found = _UNDEFINED.search(error.head)
    return None if found is None else next(n for n in found.groups() if n is not None)


def _same(one: _Error, another: _Error) -> bool:
    """Whether two compilers mean the same place. A missing `;` or `)` is reported by some on its
    line and by others on the next."""
    if one.place == another.place:
        return True
    syntax = "expected" in one.head and "expected" in another.head
    return syntax and one.file == another.file and abs(one.line - another.line) <= 2


def _missing_name(error: _Error, whole: str) -> str | None:
    """Whether the error is about a name that a header might have declared."""
    name = _undefined(error)
    if name is not None:
        if _BROUGHT_ALONG.fullmatch(name) or "::" in name:
            return "a name that a header may bring"
        if _OPENED.search(whole):
            return "an undefined name beside `using namespace`"
    member = _NO_MEMBER.search(error.head)
    if _DOUBTFUL.search(error.head) and (member is None or _foreign(member[1], whole)):
        return "a name or type that a header may bring"
    return None


def _foreign(name: str, whole: str) -> bool:
    """Whether what `name` begins with is declared neither by the sources nor by a header that they
    include and the device pass has."""
    head = re.split(r"::|<", name)[0].strip()
    if head in _INCLUDED_BY:
        return re.search(rf'#\s*include\s*[<"]{_INCLUDED_BY[head]}', whole) is None
    if re.fullmatch(r"(?:u?(?:char|short|int|long|longlong)|float|double)[1-4]|dim3", head):
        return False
    declared = rf"\b(?:namespace|struct|class|union|enum|using|typename)\s+{re.escape(head)}\b"
    return re.search(rf"{declared}|\btypedef\b[^;\n]{0, 300}\b{re.escape(head)}\s*;", whole) is None


def _of_link(log: str) -> Final | Fall:
    """A function that two sources define is defined twice in the stock build as well. Variables
    are not sure (nvcc hides those of the device), nor is what this rung has given a name."""
    twice = list(
        dict.fromkeys(found[1] or found[2] for found in _TWICE.finditer(log.translate(_QUOTES)))
    )
    others = [line for line in log.splitlines() if _LINK_ERROR.search(line)]
    sure = all(_FUNCTION.search(n) and "rs_local" not in n for n in twice)
    if not twice or not sure or any(not _TWICE.search(line.translate(_QUOTES)) for line in others):
        return Fall(f"link: {_first_line(log)}")
    return Final("\n".join(f"defined twice: {name}"[:400] for name in twice[:_MAX_LINES]))


def _of_ptxas(log: str, whole: str) -> Final | Fall:
    found = [line.strip() for line in log.splitlines() if _PTXAS.match(line)]
    if not found:
        return Fall(f"no error was understood: {_first_line(log)}")
    shown = [re.sub(r"^ptxas /\S+, line \d+; ", "ptxas ", line) for line in found]
    inline = re.search(r"\basm\b", whole) is not None
    for line in found:
        opened = _PTXAS_OPEN.search(line)
        if opened is not None and re.search(r"3c10|2at|5torch|2rs|_ZNK?St|3std", opened[1]):
            return Fall(f"an open symbol of a header: {line}")
        known = opened is not None or _PTXAS_SIZE.search(line)
        if not known and not inline:
            return Fall(f"not understood: {line}")
    return Final("\n".join(line[:400] for line in shown[:_MAX_LINES]))


def _errors(log: str) -> list[_Error]:
    """The errors of a log of nvcc, clang or g++, in order, once each."""
    found: dict[tuple[str, int, str], _Error] = {}
    block: list[str] = []
    where: tuple[str, int] | None = None

    def close() -> None:
        if where is not None:
            name = where[0].rpartition("/")[2]
            head = block[0].replace(where[0], name, 1) if name else block[0]
            error = _Error(name, where[1], head.strip(), "\n".join(block))
            found.setdefault((name, where[1], head), error)

    for line in log.translate(_QUOTES).splitlines():
        head = _NVCC.match(line) or _GNU.match(line)
        if (
            head is not None
            or _NOWHERE.match(line)
            or not line.strip()
            or _OTHER_MESSAGE.match(line)
        ):
            close()
            where, block = None, []
        if head is not None:
            where = (head["file"], int(head["line"]))
        elif _NOWHERE.match(line):
            where = ("", 0)
        if where is not None:
            block.append(line)
    close()
    return list(found.values())


def _final(errors: Sequence[_Error]) -> Final:
    return Final("\n".join(error.head[:400] for error in errors[:_MAX_LINES]))


def _first_line(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    told = [line for line in lines if "error" in line or "undefined" in line]
    return (told or lines or ["it said nothing"])[0][:200]
