"""Which of a candidate's own compiler and linker flags reach a command.

The list is of what is allowed. A flag that is not on it is dropped, and the verdict says so; one
that reads or writes files, loads code into a compiler or hides further flags makes the build
BUILD_FORBIDDEN, though it would have been dropped as well. The target is ours: `-gencode` and the
like are dropped, except that asking for the `a` variant of our target (such as `sm_90a`) selects
it. Flags are arguments of a command and never see a shell.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from reward_service.build.toolchain import Toolchain
from reward_service.findings import Finding
from reward_service.formats.extension_call import ExtensionCall
from reward_service.schemas import Reason

_WORD = r"[\w.+-]*"
_DEFINE = rf"-[DU]\w+(={_WORD})?"
_SHARED = rf"-O[0-3]?|-Ofast|-std=(c|gnu)\+\+\d\w|{_DEFINE}|-w"

_HOST = re.compile(
    rf"{_SHARED}|-O[gs]|-g[0-3]?|-m(arch|tune|cpu)=[\w.-]+|-m(no-)?(avx|sse|fma|f16c|bmi|popcnt|aes|"
    r"xsave|amx|lzcnt|movbe|pclmul)[\w.-]*|-mprefer-vector-width=\d+|-pthread|-pedantic|-pipe|"
    r"-W(no-)?[a-z][a-z0-9+=-]+|"
    r"-f(no-)?(PIC|pic|openmp|openmp-simd|fast-math|finite-math-only|associative-math|"
    r"reciprocal-math|unsafe-math-optimizations|math-errno|trapping-math|signed-zeros|"
    r"rounding-math|signaling-nans|strict-aliasing|strict-overflow|wrapv|omit-frame-pointer|"
    r"inline|inline-functions|inline-small-functions|unroll-loops|unroll-all-loops|peel-loops|"
    r"tree-vectorize|vectorize|slp-vectorize|tree-slp-vectorize|tree-loop-vectorize|"
    r"prefetch-loop-arrays|split-loops|unswitch-loops|gcse|schedule-insns2?|ipa-cp|ipa-pta|"
    r"exceptions|rtti|permissive|plt|semantic-interposition|function-sections|data-sections|"
    r"merge-all-constants|common|stack-protector|asynchronous-unwind-tables|builtin|"
    r"delete-null-pointer-checks|threadsafe-statics|visibility-inlines-hidden)|"
    r"-fvisibility=(hidden|default)|-ffp-contract=(fast|on|off)|-fmax-errors=\d{1,4}|"
    r"-fdiagnostics-color(=\w+)?|-fexcess-precision=\w+"
)
_NVCC = re.compile(
    rf"{_SHARED}|--optimize=[0-3]|-lineinfo|--generate-line-info|"
    r"--?use_fast_math|--?expt-relaxed-constexpr|--?expt-extended-lambda|--?extended-lambda|"
    r"--?(maxrregcount|ftz|fmad|prec-div|prec-sqrt|default-stream)=[\w-]+|--?restrict|"
    r"--?extra-device-vectorization|--?(res|resource)-usage|--std=(c|gnu)\+\+\d\w|"
    r"--?diag[-_]suppress=[\w,]+|--?disable-warnings|--?Wno-[a-z-]+|-Wno-[a-z-]+"
)
_PTXAS = re.compile(
    r"-v|--verbose|-O[0-4]|--opt-level=?[0-4]|-dlcm=\w+|-dscm=\w+|--def-(load|store)-cache=\w+|"
    r"--?warn-(spills|on-spills|lmem-usage|on-local-memory-usage)|-w|--?allow-expensive-optimizations"
    r"(=\w+)?|--?maxrregcount=\d+|--?fmad=\w+|-regUsageLevel=\d+|--register-usage-level=\d+"
)
_CUDAFE = re.compile(r"--diag_suppress=[\w,]+|--display_error_number")
_LINK = re.compile(
    rf"-O[0-3]?|-fopenmp|-pthread|-Wl,(--no-as-needed|--as-needed|-O\d)|-s|{_DEFINE}|"
    r"-l(m|dl|rt|pthread|gomp|stdc\+\+|c10|c10_cuda|torch|torch_cpu|torch_cuda|torch_python|cuda|"
    r"cudart|cudart_static|cudadevrt|cublas|cublasLt|cudnn|curand|cusparse|cusparseLt|cusolver|"
    r"cufft|nvrtc|nvrtc-builtins|nvToolsExt|nvJitLink)"
)
_ARCH = re.compile(
    r"--?(gencode|generate-code|gpu-architecture|arch|gpu-code|code)(=.*)?|arch=compute_\w+.*"
)
_NAMES_ARCH = re.compile(r"(?:sm|compute)_(\d+a)\b")
_HOSTILE = re.compile(
    r"@.*|-B.*|-?-specs.*|-fplugin.*|-?-include.*|-i.*|--sysroot.*|-wrapper.*|-x.*|--language.*|"
    r"-o.*|--output.*|-T.*|-M.*|-W[pal],.*|-X(linker|assembler|preprocessor|clang|nvlink).*|"
    r"-ccbin.*|--compiler-bindir.*|--options-file.*|--nvlink-options.*|-load.*|[^-].*",
    re.DOTALL,
)
_TAKES_VALUE = re.compile(
    r"-[DU]|-Xcompiler|--compiler-options|-Xptxas|--ptxas-options|-Xcudafe|-gencode|"
    r"--generate-code|-arch|--gpu-architecture|-code|--gpu-code|--?maxrregcount|--?ftz|--?fmad|"
    r"--?prec-div|--?prec-sqrt|--?default-stream|-std|--std|--?diag-suppress|-I|-isystem|-L|-l|"
    r"--?threads|-t|--?split-compile|-Xfatbin|--fatbin-options|-z"
)
_JOINED = {"-D", "-U", "-I", "-L", "-l"}
_NESTED = re.compile(r"(-Xcompiler|--compiler-options|-Xptxas|--ptxas-options|-Xcudafe)=(.*)")
_OURS = re.compile(r"-[DU](TORCH_EXTENSION_NAME|TORCH_API_INCLUDE_EXTENSION_H|PYBIND11_\w*)(=.*)?")


@dataclass(frozen=True)
class Flags:
    """What is left of a call's flags, each list in the candidate's order."""

    cxx: tuple[str, ...] = ()
    nvcc: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """What was dropped, for the verdict."""
    arch_variants: frozenset[str] = frozenset()
    """Targets with a suffix that were asked for, such as `90a`."""

    @property
    def for_this_cpu(self) -> bool:
        """Whether the module depends on the processor it is built on."""
        return any(f.endswith("=native") for f in (*self.cxx, *self.nvcc))

    def target(self, arch: str) -> str:
        """`arch` (such as `9.0`), or its `a` variant if that was asked for."""
        variant = arch.replace(".", "") + "a"
        return f"{arch}a" if variant in self.arch_variants else arch


def choose(call: ExtensionCall, toolchain: Toolchain) -> Flags | Finding:
    """The flags of `call` that may be used; a Finding if one is forbidden or cannot be read."""
    sieve = _Sieve(frozenset([*toolchain.includes, *toolchain.cuda_includes, *toolchain.cuda_libs,
                              toolchain.torch_lib]))  # fmt: skip
    try:
        cxx = tuple(sieve.host(sieve.split("extra_cflags", call.extra_cflags)))
        nvcc = tuple(sieve.nvcc(sieve.split("extra_cuda_cflags", call.extra_cuda_cflags)))
        link = tuple(sieve.link(sieve.split("extra_ldflags", call.extra_ldflags)))
    except _Refused as refused:
        return refused.finding
    for path in call.extra_include_paths:
        if path not in sieve.known_paths:
            sieve.drop("extra_include_paths", path)
    return replace(
        Flags(cxx, nvcc, link),
        warnings=tuple(dict.fromkeys(sieve.warnings)),
        arch_variants=frozenset(sieve.variants),
    )


class _Refused(Exception):  # noqa: N818 - never leaves this module
    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.finding = Finding(reason, message)


@dataclass
class _Sieve:
    """Sorts the flags of one call."""

    known_paths: frozenset[str]
    warnings: list[str] = field(default_factory=list)
    variants: set[str] = field(default_factory=set)
    where: str = ""

    def split(self, where: str, entries: Iterable[str]) -> list[str]:
        """The words of all entries: torch joins them into one line, so one may hold several."""
        self.where = where
        try:
            words = [word for entry in entries for word in shlex.split(entry)]
        except ValueError as error:
            raise _Refused(Reason.BUILD_FAILED, f"{where}: {error}") from error
        return list(self._joined(words))

    def host(self, words: Iterable[str]) -> Iterator[str]:
        """Flags of the C++ compiler."""
        return (w for w in words if self._allows(_HOST, w))

    def link(self, words: Iterable[str]) -> Iterator[str]:
        """Flags of the link."""
        return (w for w in words if self._allows(_LINK, w))

    def nvcc(self, words: Iterable[str]) -> Iterator[str]:
        """Flags of nvcc, with those it passes on looked at one by one."""
        for word in words:
            nested = _NESTED.fullmatch(word)
            if nested is not None:
                inner = {"-Xptxas": _PTXAS, "--ptxas-options": _PTXAS, "-Xcudafe": _CUDAFE}
                pattern = inner.get(nested[1], _HOST)
                for part in nested[2].strip("'\"").replace(",", " ").split():
                    if self._allows(pattern, part):
                        yield nested[1]
                        yield part
            elif _ARCH.fullmatch(word):
                self.variants.update(_NAMES_ARCH.findall(word))
                self.warnings.append(f"{self.where}: {word[:100]} is replaced by our target")
            elif self._allows(_NVCC, word):
                yield word

    def drop(self, where: str, what: str) -> None:
        """Note that something is not used."""
        self.warnings.append(f"{where}: {what[:100]} is not allowed and was dropped")

    def _allows(self, allowed: re.Pattern[str], word: str) -> bool:
        if _OURS.fullmatch(word):
            self.drop(self.where, word)
            return False
        if allowed.fullmatch(word):
            return True
        directory = re.fullmatch(r"-(?:I|L|isystem=)(.*)", word, re.DOTALL)
        if directory is not None:
            if directory[1] not in self.known_paths:
                self.drop(self.where, word)
            return False
        if _HOSTILE.fullmatch(word):
            raise _Refused(
                Reason.BUILD_FORBIDDEN,
                f"{self.where}: {word[:200]!r} is forbidden: it reaches beyond the candidate's "
                "own sources",
            )
        self.drop(self.where, word)
        return False

    def _joined(self, words: list[str]) -> Iterator[str]:
        """Each flag as one word, its value behind `=` where it had been a word of its own."""
        rest = iter(words)
        for word in rest:
            if not _TAKES_VALUE.fullmatch(word):
                yield word
                continue
            value = next(rest, None)
            if value is None:
                raise _Refused(Reason.BUILD_FAILED, f"{self.where}: {word} lacks its value")
            yield f"{word}{value}" if word in _JOINED else f"{word}={value}"
