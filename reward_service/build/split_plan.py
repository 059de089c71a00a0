"""The files and passes of one build by the split rung."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reward_service.build import device_pass, main_source, split_rules, stock
from reward_service.build.flags import Flags
from reward_service.build.precompiled import HEADERS, Header, Precompiled
from reward_service.build.source import UnsuitableError, transform
from reward_service.build.toolchain import Toolchain, isystem
from reward_service.build.workbench import Command
from reward_service.formats.extension_call import ExtensionCall

CUDA_SOURCES = (".cu", ".cuh")
_HEADERS = (".h", ".hh", ".hpp", ".cuh", ".inl")


@dataclass(frozen=True)
class Pass:
    """One compiler's run over one of the candidate's files."""

    kind: Literal["device", "host"]
    file: str
    """The candidate's file."""
    command: Command


class Plan:
    """The files and passes of one build."""

    def __init__(
        self,
        toolchain: Toolchain,
        precompiled: Precompiled,
        call: ExtensionCall,
        flags: Flags,
        arch: str,
        module: str,
        header: Header,
    ) -> None:
        self.files: dict[str, str] = {}
        self.passes: list[Pass] = []
        self.pairs: list[tuple[str, str]] = []
        """Of each CUDA source, the fat binary and the host object."""
        self._toolchain, self._precompiled = toolchain, precompiled
        self._flags, self._header = flags, header
        self.compiler = header.compiler
        self._arch, self._module = flags.target(arch), module
        self._before = stock.preamble(call)
        self.texts = stock.own_sources(call)
        """What the device passes read, by the candidate's names."""
        self.own = {name: len(self._before.get(name, ())) for name in self.texts}
        """Of each of the candidate's files, the lines of ours ahead of its own in a stock build."""
        self.unsuitable: str | None = None
        """Why there are no host passes; the device passes may still find an error."""
        self.merged = False
        """Whether main.cpp is compiled at the end of cuda.cu's host text."""
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
            host["cuda.cu"] += f"\n{self._line('main.cpp')}{host['main.cpp']}"
            self.merged = True
        if (
            call.with_cuda
            and "main.cpp" in self.texts
            and main_source.borrows(self.texts["main.cpp"])
        ):
            self.unsuitable = "main.cpp uses CUDA's names without a header for them"
        for number, name in enumerate(sources):
            if call.with_cuda and name.endswith(CUDA_SOURCES):
                self._device_pass(number, name)
                self.pairs.append((f"{number}.fatbin", f"{number}.o"))
            if self.unsuitable is None:
                self._host_pass(number, name, host[name])

    def _split(self, own: set[str], host: dict[str, str]) -> None:
        """Split the texts of all CUDA sources and of all headers."""
        split = {
            name: transform(text, index, own)
            for index, (name, text) in enumerate(self.texts.items())
            if name.endswith((*CUDA_SOURCES, *_HEADERS))
        }
        local = any("rs_local_" in split[name].device for name in own & set(split))
        if local and len(self.texts) > len(own) + 1:
            # Each source that includes it has its own, and both may be compiled differently.
            raise UnsuitableError("a header with names that each source has for itself")
        host.update({name: both.host for name, both in split.items()})
        self.texts.update({name: both.device for name, both in split.items()})

    def _line(self, name: str) -> str:
        """What makes `__LINE__` and `__FILE__` those of a stock build."""
        return f'#line {self.own[name] + 1} "{name}"\n'

    def _device_pass(self, number: int, name: str) -> None:
        tools = self._toolchain
        made, file = f"{number}.fatbin", f"{number}.device.cu"
        arch = self._arch.replace(".", "")
        whole = "\n".join([*self._before.get(name, ()), *self.texts.values()])
        argv = [
            *(str(tools.nvcc), "-fatbin", "--no-compress"),
            *("-ccbin", str(tools.cxx)),
            *(f"-DTORCH_EXTENSION_NAME={self._module}", "-DTORCH_API_INCLUDE_EXTENSION_H"),
            *device_pass.needs(whole),
            *("-isystem", str(device_pass.HEADERS)),
            *isystem((*tools.includes, *tools.cuda_includes)),
            *tools.nvcc_flags,
            f"-gencode=arch=compute_{arch},code=sm_{arch}",
            *self._flags.nvcc,
            "-Idevice",
        ]
        if not any(flag.startswith(("-std=", "--std=")) for flag in self._flags.nvcc):
            argv.append(tools.standard)
        before = "".join(f"{line}\n" for line in self._before.get(name, ()))
        self.files[file] = f"{before}{self._line(name)}{self.texts[name]}"
        self.passes.append(Pass("device", name, Command((*argv, file), made)))

    def _host_pass(self, number: int, name: str, text: str) -> None:
        header = self._header
        file, made = f"{number}.host.cpp", f"{number}.o"
        given = self._flags.nvcc if name.endswith(CUDA_SOURCES) else self._flags.cxx
        own = split_rules.defines(given) if header.kind == "cuda" else self._flags.cxx
        argv = [
            header.compiler,
            *header.use,
            *("-isystem", str(HEADERS / "host")),
            *self._precompiled.flags(header.kind),
            *(header.mode if header.kind == "cuda" else ()),
            *own,
            f"-DTORCH_EXTENSION_NAME={self._module}",
            *("-Ihost", "-c", file),
        ]
        self.files[file] = f"{self._line(name)}{text}"
        self.passes.append(Pass("host", name, Command(tuple(argv), made)))
