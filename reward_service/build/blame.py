"""Whether a failed pass of the split build is the candidate's fault.

The passes see less than the stock build: the device pass sees stand-ins for torch, the host pass
sees real torch headers but no kernel bodies. So an error counts as the candidate's own only where
the missing part cannot be its cause, and a wrong `Final` is worse than the minute that the stock
build takes to say the same:

- in device code, where nothing in the message or on the line is, or may be, a name of torch or of
  a header that torch brings along (the stand-ins have the real CUDA headers);
- in host code, where device and host pass both report an error on that line, neither of them
  about a name that both may lack;
- from ptxas.

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
    r"\b(?:torch|at|c10|caffe2|aten|py|pybind11|rs)\s*::|namespace\W+(?:torch|at|c10|caffe2|py)\b|"
    r"\b(?:AT|C10|TORCH|THO|CAFFE2?|PYBIND11|TH[CP])_\w|\b(?:Tensor|py::|IValue)\b|\brs_\w"
)
"""Names that torch's headers, or ours in their place, stand behind."""
_BROUGHT_ALONG = re.compile(
    r"(?:CU|CUDA|CUDART|CUB|GPU|HIP|NV|FP8|Py|PY|FE|SYS|NPY)_?[A-Z_]\w*|cu[A-Z]\w*|\w*atomic\w*gpu\w*|gpu[A-Z]\w*|"
    r"\w*(?i:half|bfloat|bf16|fp16|fp8|fp6|fp4|complex|accessor|ptrtraits|dispatch|assert)\w*|"
    r"Py\w*|__nv_\w+|nv_\w+|__h[a-z]+\w*|h2?(?:exp|log|sqrt|rsqrt|rcp|sin|cos|tanh)\w*|Scalar\w*|"
    r"(?:D|P|V)?(?:CHECK|LOG)\w*|errno|va_\w+|std|thrust|cub|cuda|nvcuda|cooperative_groups|"
    r"optional|nullopt|string|vector|irange|IntArrayRef|kFloat\w*|k(?:Int|Half|Double|Long)\w*"
)
"""Unqualified names that may come from a header that torch includes and the stand-ins do not."""
_INCLUDED_BY = {
    "cub": "cub/", "thrust": "thrust/", "cuda": "cuda/", "nvcuda": "mma.h",
    "cooperative_groups": "cooperative_groups", "cg": "cooperative_groups",
}  # fmt: skip
_UNDEFINED = re.compile(
    r'identifier "(?P<nvcc>[^"]+)" is undefined|'
    r"(?:undeclared identifier|unknown type name|use of undeclared template name) '(?P<clang>[^']+)'|"
    r"'(?P<gnu>[^']+)' (?:was not declared|has not been declared|does not name a type)"
)
_DOUBTFUL = re.compile(
    r'must be a class or namespace name|extended[- ]lambda|closure type|has no member "|'
    r"incomplete type|[Nn]o such file|#error|not a template|is not a class or namespace"
)
_NO_MEMBER = re.compile(r'(?:class|struct|union|enum) "(?P<of>[^"]+)" has no member')
_REAL_TENSOR = re.compile(r"no member named '\w+' in '(?:const )?at::Tensor'|"
                          r"'(?:class |const class )?at::Tensor' has no member named")  # fmt: skip
_OPENED = re.compile(r"using\s+namespace\s+(?:at|torch|c10|std|thrust|cub|cuda)\b")
_QUALIFIER = re.compile(r"\b(\w+)\s*(?:<[^<>]*>)?\s*::")


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
        return Fall(f"link: {_first_line(log)}")
    device, host = (log, other) if kind == "device" else (other, log)
    if device is None:
        return Fall(f"host pass alone: {_first_line(log)}")
    lines = {name: Lines(text) for name, text in sources.items()}
    errors = _errors(device)
    if not errors:
        return _of_ptxas(device, sources)
    for error in errors:
        if (doubt := _doubt(error, lines)) is not None and not _seen_in_torch(error, host):
            return Fall(f"{doubt}: {error.head}")
    outside = [e for e in errors if e.file not in lines or not lines[e.file].in_device_code(e.line)]
    if not outside:
        return _final(errors)
    if host is None:
        return Fall(f"host code, device pass alone: {outside[0].head}")
    heard = _errors(host)
    for error in heard:
        if _REAL_TENSOR.search(error.text) is None and (doubt := _doubt(error, lines)) is not None:
            return Fall(f"{doubt}: {error.head}")
    places = {(e.file, e.line) for e in heard}
    agreed = [e for e in outside if (e.file, e.line) in places and (e.line or "expected" in e.text)]
    if not agreed:
        return Fall(f"the passes disagree: {outside[0].head}")
    return _final(agreed)


def _doubt(error: _Error, lines: Mapping[str, Lines]) -> str | None:
    """Why the error may not be the candidate's own; None: it is."""
    if error.line and error.file not in lines:
        return "an error in a header"
    source = lines.get(error.file)
    line = source.text(error.line) if source is not None else ""
    whole = "\n".join(lines[name].whole for name in lines)
    if _TORCH.search(error.text) or _TORCH.search(line):
        return "a name of torch"
    undefined = _UNDEFINED.search(error.text)
    if undefined is not None:
        name = next(n for n in undefined.groups() if n is not None)
        if _BROUGHT_ALONG.fullmatch(name) or "::" in name:
            return "a name that a header may bring"
        if _OPENED.search(whole):
            return "an undefined name beside `using namespace`"
    member = _NO_MEMBER.search(error.text)
    if _DOUBTFUL.search(error.head) and (member is None or _foreign(member["of"], whole)):
        return "a name or type that a header may bring"
    if any(_foreign(q, whole) for q in _QUALIFIER.findall(f"{error.head}\n{line}")):
        return "a namespace that a header may bring"
    return None


def _foreign(name: str, whole: str) -> bool:
    """Whether the namespace or class at the head of `name` may be known to torch's headers only."""
    head = name.partition("::")[0].partition("<")[0].strip()
    if head in _INCLUDED_BY:
        return re.search(rf'#\s*include\s*[<"]{_INCLUDED_BY[head]}', whole) is None
    if re.fullmatch(r"(?:u?(?:char|short|int|long|longlong)|float|double)[1-4]|dim3", head):
        return False
    declared = (
        rf"\b(?:namespace|struct|class|union|enum|enum\s+class|using|typename|class)\s+{head}\b"
    )
    return re.search(rf"{declared}|\btypedef\b[^;]*\b{head}\s*;", whole) is None


def _seen_in_torch(error: _Error, host: str | None) -> bool:
    """Whether the host pass, which has the real at::Tensor, says on that line that it lacks the
    member."""
    return host is not None and any(
        (e.file, e.line) == (error.file, error.line) and _REAL_TENSOR.search(e.text)
        for e in _errors(host)
    ) and "at::Tensor" in error.text  # fmt: skip


def _of_ptxas(log: str, sources: Mapping[str, str]) -> Final | Fall:
    found = [line.strip() for line in log.splitlines() if _PTXAS.match(line)]
    if not found:
        return Fall(f"no error was understood: {_first_line(log)}")
    shown = [re.sub(r"^ptxas /\S+, line \d+; ", "ptxas ", line) for line in found]
    inline = any(re.search(r"\basm\b", text) for text in sources.values())
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

    for line in log.splitlines():
        head = _NVCC.match(line) or _GNU.match(line)
        if head is not None or _NOWHERE.match(line) or not line.strip() or _started(line):
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


def _started(line: str) -> bool:
    """Whether the line begins another message, such as a warning or a note."""
    return (
        re.match(r"^\S.*(?:\(\d+\)|:\d+):? (?:\d+: )?(?:warning|note|remark)\b", line) is not None
    )


def _final(errors: Sequence[_Error]) -> Final:
    return Final("\n".join(error.head[:400] for error in errors[:_MAX_LINES]))


def _first_line(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    told = [line for line in lines if "error" in line or "undefined" in line]
    return (told or lines or ["it said nothing"])[0][:200]
