"""The stock rung: the sources, flags and commands that torch's own `load_inline` would use.

Other rungs of the build ladder must make modules that behave as this one's. It differs from
torch in four things only: the module's name is ours, the target is the one architecture that is
asked for, device code is not compressed, so that the judge can read it, and the candidate's flags
have passed `flags.choose`. Commands run in the directory of the sources and name these without a
directory, so that messages, `__FILE__` and assertions do not depend on where that is.

Where torch has no CUDA libraries (a machine that only builds) a generated header stands in for
one that its wheel lacks, and the module is left with open symbols.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from reward_service.build.flags import Flags
from reward_service.build.toolchain import Toolchain, isystem
from reward_service.build.workbench import MODULE, Command, Compiled, Workbench
from reward_service.findings import Finding
from reward_service.formats.extension_call import ExtensionCall

_CPP_HEADER = "#include <torch/extension.h>"
_CUDA_HEADERS = ("#include <torch/types.h>", "#include <cuda.h>", "#include <cuda_runtime.h>")
_CUDA_SUFFIXES = (".cu", ".cuh")
_STAND_IN = "stand-in"
_STAND_IN_HEADER = "c10/cuda/impl/cuda_cmake_macros.h"
_STAND_IN_TEXT = "#pragma once\n#define C10_CUDA_BUILD_SHARED_LIBS\n"


@dataclass(frozen=True)
class Unit:
    """One source, the command that compiles it, and the object it leaves in its directory."""

    source: str
    object: str
    argv: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """All that a build needs; `files` go into one directory, where the commands run."""

    files: dict[str, str]
    """Name, relative to the directory, and text."""
    sources: dict[str, int]
    """The files that the candidate wrote, and the lines before its own in each: for finding its
    lines in messages."""
    units: tuple[Unit, ...]
    link: tuple[str, ...]
    """The link's command without `-o` and without the objects, which go behind the program."""
    warnings: tuple[str, ...] = ()


def plan(call: ExtensionCall, flags: Flags, arch: str, module: str, toolchain: Toolchain) -> Plan:
    """Plan the build of `call` as the module `module` for the compute capability `arch`."""
    files = sources_of(call)
    before = preamble(call)
    compiled = [name for name in files if name not in {h for h, _ in call.headers}]
    if call.with_cuda and not toolchain.links_cuda:
        files[f"{_STAND_IN}/{_STAND_IN_HEADER}"] = (
            "#pragma once\n#define C10_CUDA_BUILD_SHARED_LIBS\n"
        )
    units = []
    for name in compiled:
        if call.with_cuda and name.endswith(_CUDA_SUFFIXES):
            made = f"{Path(name).stem}.cuda.o"
            argv = _nvcc(flags, flags.target(arch), module, toolchain)
        else:
            made = f"{Path(name).stem}.o"
            argv = _cxx(call, flags, module, toolchain)
        own = ("-I.",) if call.headers else ()
        units.append(Unit(name, made, (*argv, *own, "-c", name)))
    libraries, warnings = link_flags(call, flags, toolchain)
    return Plan(
        files=files,
        sources={name: len(before.get(name, ())) for name in files},
        units=tuple(units),
        link=(str(toolchain.cxx), "-shared", *libraries),
        warnings=warnings,
    )


def build(plan: Plan, bench: Workbench) -> Compiled | Finding:
    """Compile side by side, then link; a Finding for a candidate that failed."""
    bench.write(plan.files, plan.sources)
    commands = [Command(unit.argv, unit.object) for unit in plan.units]
    for ended in bench.run_all(commands, together=True):
        if ended is not None and ended.finding is not None:
            return ended.finding
    program, *rest = plan.link
    objects = [str(bench.objects / unit.object) for unit in plan.units]
    linked = bench.run(Command((program, *objects, *rest), MODULE))
    if linked.finding is not None:
        return linked.finding
    return Compiled(bench.objects / MODULE, "stock")


def sources_of(call: ExtensionCall) -> dict[str, str]:
    """The files that torch would write, or was given, for this call: name and text."""
    files = own_sources(call)
    for name, lines in preamble(call).items():
        files[name] = "\n".join([*lines, files[name]])
    return files


def own_sources(call: ExtensionCall) -> dict[str, str]:
    """The same without the headers that torch includes first."""
    if call.kind == "load":
        return dict([*call.sources, *call.headers])
    files = {"main.cpp": "\n".join([*call.cpp_sources, *_binding(call)])}
    if call.cuda_sources:
        files["cuda.cu"] = "\n".join(call.cuda_sources)
    return {**files, **{name: text for name, text in call.headers if name not in files}}


def preamble(call: ExtensionCall) -> dict[str, tuple[str, ...]]:
    """The lines that torch puts before the candidate's, by file."""
    if call.kind == "load" or call.no_implicit_headers:
        return {}
    first: dict[str, tuple[str, ...]] = {"main.cpp": (_CPP_HEADER,)}
    return {**first, "cuda.cu": _CUDA_HEADERS} if call.cuda_sources else first


def _binding(call: ExtensionCall) -> Iterator[str]:
    """What torch writes for `functions`."""
    if call.functions is None:
        return
    yield "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {"
    for name, doc in call.functions:
        bound = f"torch::wrap_pybind_function({name})" if call.with_pytorch_error_handling else name
        yield f'm.def("{name}", {bound}, "{doc}");'
    yield "}"


def _common(module: str, toolchain: Toolchain, *, cuda: bool) -> list[str]:
    includes = [*toolchain.includes, *(toolchain.cuda_includes if cuda else ())]
    flags = [f"-DTORCH_EXTENSION_NAME={module}", "-DTORCH_API_INCLUDE_EXTENSION_H"]
    flags += isystem(includes)
    if cuda and not toolchain.links_cuda:
        flags += ["-isystem", _STAND_IN]
    return flags


def _cxx(call: ExtensionCall, flags: Flags, module: str, toolchain: Toolchain) -> list[str]:
    common = _common(module, toolchain, cuda=call.with_cuda)
    return [str(toolchain.cxx), *common, "-fPIC", toolchain.standard, *flags.cxx]


def _nvcc(flags: Flags, arch: str, module: str, toolchain: Toolchain) -> list[str]:
    number = arch.replace(".", "")
    argv = [
        str(toolchain.nvcc),
        *("-ccbin", str(toolchain.cxx)),
        *_common(module, toolchain, cuda=True),
        *toolchain.nvcc_flags,
        f"-gencode=arch=compute_{number},code=sm_{number}",
        "--no-compress",
        *("--compiler-options", "-fPIC"),
        *flags.nvcc,
    ]
    if not any(flag.startswith(("-std=", "--std=")) for flag in flags.nvcc):
        argv.append(toolchain.standard)
    return argv


def link_flags(
    call: ExtensionCall, flags: Flags, toolchain: Toolchain
) -> tuple[list[str], tuple[str, ...]]:
    """The link's libraries and flags, and warnings about what is left out."""
    paths = [toolchain.torch_lib]
    names = ["c10", "torch_cpu", "torch", "torch_python"]
    if call.with_cuda:
        paths += [*toolchain.cuda_libs, *(f"{p}/stubs" for p in toolchain.cuda_libs)]
        names = ["c10", "c10_cuda", "torch_cpu", "torch_cuda", "torch", "torch_python", "cudart"]
    present: list[str] = []
    warnings: list[str] = []
    optional = {"c10_cuda", "torch_cuda"} if not toolchain.links_cuda else set()
    for flag in [*flags.link, *(f"-l{name}" for name in names)]:
        name = flag.removeprefix("-l")
        if flag.startswith("-l") and not toolchain.links_cuda and call.with_cuda:
            is_cuda = name in optional or name.startswith(("cu", "nv"))
            if is_cuda and not _found(name, paths):
                if flag in flags.link:
                    warnings.append(f"{flag} is not on this machine: its symbols are left open")
                continue
        present.append(flag)
    return [*(f"-L{p}" for p in paths), *present], tuple(warnings)


def _found(name: str, paths: Iterable[str]) -> bool:
    return any(Path(p, f"lib{name}{suffix}").exists() for p in paths for suffix in (".so", ".a"))
