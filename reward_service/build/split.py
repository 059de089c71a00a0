"""The split rung: each pass reads only what it needs, and the passes run side by side.

    device pass   nvcc -fatbin over stand-ins for torch's headers: host functions are only
                  type-checked, so that templates get their instances
    host pass     plain C++ over a precompiled header with torch's real ones: kernels have become
                  stubs that launch (`source/`), and our binding stands for pybind11
    link          with the fat binary, and the binding's runtime object, by lld where there is one

The result means what the stock rung's module means, or there is none: where a pass fails by what
only this rung lacks, or the two passes disagree on which kernels there are, the answer is a
`Fall`, and the stock rung builds. A Finding is the candidate's own error, and final.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from reward_service.build import (
    blame,
    blame_cpp,
    device_pass,
    kernels,
    main_source,
    stock,
)
from reward_service.build.blame import Fall, Final
from reward_service.build.elf import MalformedError
from reward_service.build.flags import Flags
from reward_service.build.precompiled import HEADERS, Header, Kind, Precompiled
from reward_service.build.source import UnsuitableError, transform
from reward_service.build.toolchain import Toolchain
from reward_service.build.workbench import MODULE, Command, Compiled, Ended, Workbench
from reward_service.findings import Finding
from reward_service.formats.extension_call import ExtensionCall
from reward_service.schemas import Reason

_CUDA = (".cu", ".cuh")
_HEADERS = (".h", ".hh", ".hpp", ".cuh", ".inl")
_HOST_IS_HARMLESS = re.compile(
    r"-O[0-3sg]?|-[DU].*|-w|-W\S*|-g\d?|-pipe|-pthread|-fPIC|-march=\S+|-mtune=\S+"
)
"""Macros, and flags without a meaning for host code that only checks, allocates and launches."""
_USES_TORCH = re.compile(r"#\s*include\s*[<\"](?:torch|ATen|c10|pybind11)/")
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


@dataclass(frozen=True)
class _Pass:
    kind: Literal["device", "host"]
    file: str
    """The candidate's file."""
    command: Command


@dataclass(frozen=True)
class Rung:
    """The split rung on one machine."""

    toolchain: Toolchain
    precompiled: Precompiled
    make_now: Callable[[str], None] | None = None
    """Where given, a missing precompiled header is made at once, and this hears of it."""

    def build(
        self, call: ExtensionCall, flags: Flags, arch: str, module: str, bench: Workbench
    ) -> Compiled | Finding | Fall:
        """Build `call` as the module `module` for the compute capability `arch`."""
        header = self._header(call, flags)
        if isinstance(header, Fall):
            return header
        if asked := self._asked(call, header):
            return Fall(f"source: it asks for {asked}")
        plan = _Plan(self, call, flags, arch, module, header)
        bench.write(plan.files, own={p.file: 0 for p in plan.passes})
        ended = bench.run_all([p.command for p in plan.passes], together=False)
        failure = self._failure(plan, ended, header.kind)
        if plan.unsuitable is not None and not isinstance(failure, Finding):
            return Fall(f"source: {plan.unsuitable}")
        if failure is not None:
            return failure
        try:
            units = [
                kernels.unit(
                    str(bench.objects / fatbin),
                    (bench.objects / fatbin).read_bytes(),
                    (bench.objects / made).read_bytes(),
                )
                for fatbin, made in plan.pairs
            ]
        except MalformedError as error:
            return Fall(f"kernels: {error}")
        if unknown := kernels.missing(units):
            return Fall(f"kernels: the device pass has no {unknown[0][:200]}")
        objects = [p.command.output for p in plan.passes if p.kind == "host"]
        return self._link(call, flags, units, objects, bench)

    def _asked(self, call: ExtensionCall, header: Header) -> str | None:
        """A macro that the source asks for, and that the passes may answer unlike stock's."""
        for text in stock.sources_of(call).values():
            if found := _ASKED.search(text):
                return found.group()
            for condition in _CONDITION.finditer(text):
                for name in (found[0] for found in _NAME.finditer(condition[1])):
                    if call.with_cuda and _OF_TORCH.fullmatch(name):
                        return name
                    if header.compiler != self.toolchain.cxx and _OF_COMPILER.fullmatch(name):
                        return name
                    known = name == "defined" or name.startswith("__")
                    if not known and name in self.precompiled.lacking:
                        return name
        return None

    def _header(self, call: ExtensionCall, flags: Flags) -> Header | Fall:
        """The precompiled header for the call, if it is there; else it is asked for."""
        if not call.is_python_module:
            return Fall("source: not a Python module")
        kind: Kind = "cuda" if call.with_cuda else "cpu"
        texts = stock.sources_of(call).values()
        if kind == "cpu" and not any(_USES_TORCH.search(text) for text in texts):
            return Fall("source: it includes nothing of torch, and the stock build is as fast")
        kept = _cuda_host_flags(flags, self.toolchain.standard) if call.with_cuda else flags.cxx
        if isinstance(kept, Fall):
            return kept
        header = self.precompiled.header(kind, kept)
        if self.make_now is not None:
            self.precompiled.prepare([header], self.make_now)
        if not self.precompiled.has_runtime:
            return Fall("toolchain: the runtime objects could not be compiled here")
        ready = self.precompiled.ready(header)
        if ready is False:
            self.precompiled.want(header)
            return Fall(f"flags: no precompiled header yet for {' '.join(header.mode)}")
        if ready is None:
            return Fall(f"flags: no precompiled header can be made for {' '.join(header.mode)}")
        return header

    def _failure(
        self, plan: _Plan, ended: Sequence[Ended | None], kind: Kind
    ) -> Finding | Fall | None:
        """What the failed passes mean together; None if none failed."""
        logs: dict[str, dict[str, str]] = {}
        for each, end in zip(plan.passes, ended, strict=True):
            if end is not None and end.finding is not None:
                if end.finding.reason is not Reason.BUILD_FAILED:
                    return end.finding
                logs.setdefault(each.file, {})[each.kind] = end.log
        fall: Fall | None = None
        for file, log in logs.items():
            alone = "device" not in log
            if kind == "cpu" or not file.endswith(_CUDA) or (plan.merged and alone):
                texts = {n: t for n, t in plan.texts.items() if not n.endswith(_CUDA)}
                same = plan.compiler == self.toolchain.cxx
                verdict = blame_cpp.judge(
                    log["host"], texts, self.precompiled.lacking, same_compiler=same
                )
            elif "device" in log:
                verdict = blame.judge("device", log["device"], plan.texts, log.get("host"))
            else:
                verdict = blame.judge("host", log["host"], plan.texts)
            if isinstance(verdict, Final):
                return Finding(Reason.BUILD_FAILED, verdict.message)
            which = "device" if "device" in log else "host"
            fall = fall or Fall(f"{which}_pass: {verdict.reason}")
        return fall

    def _link(
        self,
        call: ExtensionCall,
        flags: Flags,
        units: Sequence[kernels.Unit],
        objects: Sequence[str],
        bench: Workbench,
    ) -> Compiled | Finding | Fall:
        tools = self.toolchain
        libraries, _ = stock.link_flags(call, flags, tools)
        inputs = [str(bench.objects / name) for name in objects]
        inputs.append(str(self.precompiled.binding_runtime))
        if units:
            bench.write({"fat.s": kernels.fatbin_assembly(units)}, own={})
            inputs += [str(self.precompiled.launch_runtime), "fat.s"]
        linker = (
            ("-fuse-ld=lld", f"-B{tools.linker}", "-fno-use-linker-plugin")
            if tools.linker is not None
            else ()
        )
        argv = (str(tools.cxx), "-shared", *linker, *inputs, *libraries)
        ended = bench.run(Command(argv, MODULE))
        if ended.finding is None:
            return Compiled(bench.objects / MODULE, "split")
        if ended.finding.reason is not Reason.BUILD_FAILED:
            return ended.finding
        verdict = blame.judge("link", ended.log, {})
        if isinstance(verdict, Final):
            return Finding(Reason.BUILD_FAILED, verdict.message)
        return Fall(verdict.reason)


class _Plan:
    """The files and passes of one build."""

    def __init__(
        self,
        rung: Rung,
        call: ExtensionCall,
        flags: Flags,
        arch: str,
        module: str,
        header: Header,
    ) -> None:
        self.files: dict[str, str] = {}
        self.passes: list[_Pass] = []
        self.pairs: list[tuple[str, str]] = []
        """Of each CUDA source, the fat binary and the host object."""
        self._rung, self._flags, self._header = rung, flags, header
        self.compiler = header.compiler
        self._arch, self._module = flags.target(arch), module
        self._before = stock.preamble(call)
        self.unsuitable: str | None = None
        """Why there are no host passes; the device passes may still find an error."""
        self.merged = False
        """Whether main.cpp is compiled at the end of cuda.cu's host text."""
        self.texts = stock.own_sources(call)
        """What the device passes read, by the candidate's names."""
        own = {name for name, _ in call.headers}
        host = dict(self.texts)
        if call.with_cuda:
            try:
                self._split(own, host)
            except UnsuitableError as error:
                self.unsuitable = str(error)
        for name in own:
            self.files[f"device/{name}"] = self.texts[name]
            self.files[f"host/{name}"] = host[name]
        sources = [name for name in self.texts if name not in own]
        if self.unsuitable is None and main_source.merges(call, flags):
            sources.remove("main.cpp")
            host["cuda.cu"] += f'\n#line 1 "main.cpp"\n{host["main.cpp"]}'
            self.merged = True
        if (
            call.with_cuda
            and "main.cpp" in self.texts
            and main_source.borrows(self.texts["main.cpp"])
        ):
            self.unsuitable = "main.cpp uses CUDA's names without a header for them"
        for number, name in enumerate(sources):
            if call.with_cuda and name.endswith(_CUDA):
                self._device_pass(number, name)
                self.pairs.append((f"{number}.fatbin", f"{number}.o"))
            if self.unsuitable is None:
                self._host_pass(number, name, host[name])

    def _split(self, own: set[str], host: dict[str, str]) -> None:
        """Split the texts of all CUDA sources and of all headers."""
        split = {
            name: transform(text, index, own)
            for index, (name, text) in enumerate(self.texts.items())
            if name.endswith((*_CUDA, *_HEADERS))
        }
        local = any("rs_local_" in split[name].device for name in own & set(split))
        if local and len(self.texts) > len(own) + 1:
            # Each source that includes it has its own, and both may be compiled differently.
            raise UnsuitableError("a header with names that each source has for itself")
        host.update({name: both.host for name, both in split.items()})
        self.texts.update({name: both.device for name, both in split.items()})

    def _device_pass(self, number: int, name: str) -> None:
        tools = self._rung.toolchain
        made, file = f"{number}.fatbin", f"{number}.device.cu"
        arch = self._arch.replace(".", "")
        whole = "\n".join([*self._before.get(name, ()), *self.texts.values()])
        argv = [
            *(str(tools.nvcc), "-fatbin", "--no-compress"),
            *("-ccbin", str(tools.cxx)),
            *(f"-DTORCH_EXTENSION_NAME={self._module}", "-DTORCH_API_INCLUDE_EXTENSION_H"),
            *device_pass.needs(whole),
            *("-isystem", str(device_pass.HEADERS)),
            *_isystem((*tools.includes, *tools.cuda_includes)),
            *tools.nvcc_flags,
            f"-gencode=arch=compute_{arch},code=sm_{arch}",
            *self._flags.nvcc,
            "-Idevice",
        ]
        if not any(flag.startswith(("-std=", "--std=")) for flag in self._flags.nvcc):
            argv.append(tools.standard)
        before = "".join(f"{line}\n" for line in self._before.get(name, ()))
        self.files[file] = f'{before}#line 1 "{name}"\n{self.texts[name]}'
        self.passes.append(_Pass("device", name, Command((*argv, file), made)))

    def _host_pass(self, number: int, name: str, text: str) -> None:
        rung, header = self._rung, self._header
        file, made = f"{number}.host.cpp", f"{number}.o"
        given = self._flags.nvcc if name.endswith(_CUDA) else self._flags.cxx
        own = _defines(given) if header.kind == "cuda" else self._flags.cxx
        argv = [
            header.compiler,
            *header.use,
            *("-isystem", str(HEADERS / "host")),
            *rung.precompiled.flags(header.kind),
            *(header.mode if header.kind == "cuda" else ()),
            *own,
            f"-DTORCH_EXTENSION_NAME={self._module}",
            *("-Ihost", "-c", file),
        ]
        self.files[file] = f'#line 1 "{name}"\n{text}'
        self.passes.append(_Pass("host", name, Command(tuple(argv), made)))


def _cuda_host_flags(flags: Flags, standard: str) -> tuple[str, ...] | Fall:
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
    return (of_cxx,) if of_cxx == of_nvcc else Fall(f"flags: {of_cxx} beside {of_nvcc}")


def _defines(given: Sequence[str]) -> list[str]:
    """The macros among the flags of one of a CUDA candidate's compilers."""
    return [f for f in given if f.startswith(("-D", "-U")) and not _OF_HALF.fullmatch(f)]


def _isystem(paths: Sequence[str]) -> list[str]:
    return [word for path in paths for word in ("-isystem", path)]
