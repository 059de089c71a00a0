"""What of a candidate's flags and macros the split rung can honour."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reward_service.build import main_source, stock
from reward_service.build.blame import Fall
from reward_service.build.flags import Flags
from reward_service.formats.extension_call import ExtensionCall

_HOST_IS_HARMLESS = re.compile(
    r"-O[0-3sg]?|-[DU].*|-w|-W\S*|-g\d?|-pipe|-pthread|-fPIC|-march=\S+|-mtune=\S+"
)
"""Macros, and flags without a meaning for host code that only checks, allocates and launches."""
_CHANGES_HOST = re.compile(r"--?default-stream.*")
_LANGUAGE = re.compile(
    r"-[DU](?:RS_|rs_|REWARD_SERVICE|__CUDA(?:CC|_ARCH)|__(?:global|device|host|constant|shared)__)"
    r"|-D.*__(?:global|device|host|constant|shared)__"
)
"""Macros that a reading of the text alone would have to know."""
_OF_HALF = re.compile(r"-U__CUDA_NO_\w+")
"""Operators that the host's precompiled header lacks: where host code needs one, it fails."""
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:el)?if(?:n?def)?\b((?:\\\r?\n|[^\n])*)", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]\w*")
_ASKED = re.compile(r"(?:TORCH|PYBIND11)_VERSION\w*|__COUNTER__")
_OF_TORCH = re.compile(r"(?:TORCH|AT|C10|CAFFE2|PYBIND11|PY)_(?!EXTENSION_NAME\b)\w+|__CUDA_NO_\w+")
_OF_COMPILER = re.compile(
    r"__(?:clang|GNU[CG]|llvm|has_(?:builtin|attribute|feature|extension)|OPTIMIZE|FAST_MATH)\w*"
    r"|__VERSION__"
)


def cuda_host_flags(call: ExtensionCall, flags: Flags, standard: str) -> tuple[str, ...] | Fall:
    """The host flags of a CUDA candidate that a precompiled header must share."""
    host = [*flags.cxx]
    words = iter(flags.nvcc)
    of_cxx = of_nvcc = standard
    for word in words:
        if word in ("-Xcompiler", "--compiler-options"):
            host.append(next(words))
        elif word.startswith(("-std=", "--std=")):
            of_nvcc = word.replace("--std", "-std")
        elif _CHANGES_HOST.fullmatch(word) or _LANGUAGE.match(word):
            return Fall(f"flags: {word}")
    for flag in host:
        if flag.startswith("-std="):
            of_cxx = flag
        elif _LANGUAGE.match(flag) or not _HOST_IS_HARMLESS.fullmatch(flag):
            return Fall(f"flags: {flag}")
    # Declarations and bindings mean the same by either standard.
    if of_cxx == of_nvcc or main_source.merges(call, flags):
        return (of_nvcc,)
    return Fall(f"flags: {of_cxx} beside {of_nvcc}")


def defines(given: Sequence[str]) -> list[str]:
    """The macros among the flags of one of a CUDA candidate's compilers."""
    return [f for f in given if f.startswith(("-D", "-U")) and not _OF_HALF.fullmatch(f)]


def asked(call: ExtensionCall, lacking: frozenset[str], *, same_compiler: bool) -> str | None:
    """A macro that the source asks for, and that the passes may answer unlike the stock build's.

    `lacking`: words of torch's headers that our prefix has not; `same_compiler`: the host pass
    has the stock build's.
    """
    for text in stock.sources_of(call).values():
        if found := _ASKED.search(text):
            return found.group()
        for condition in _CONDITION.finditer(text):
            for name in (found[0] for found in _NAME.finditer(condition[1])):
                if call.with_cuda and _OF_TORCH.fullmatch(name):
                    return name
                if not same_compiler and _OF_COMPILER.fullmatch(name):
                    return name
                known = name == "defined" or name.startswith("__")
                if not known and name in lacking:
                    return name
    return None
