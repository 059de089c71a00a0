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

from reward_service.build import (
    blame,
    blame_cpp,
    kernels,
    split_rules,
    stock,
)
from reward_service.build.blame import Fall, Final
from reward_service.build.elf import MalformedError
from reward_service.build.flags import Flags
from reward_service.build.precompiled import Header, Kind, Precompiled
from reward_service.build.split_plan import CUDA_SOURCES, Plan
from reward_service.build.toolchain import Toolchain
from reward_service.build.workbench import MODULE, Command, Compiled, Ended, Workbench
from reward_service.findings import Finding
from reward_service.formats.extension_call import ExtensionCall
from reward_service.schemas import Reason

_USES_TORCH = re.compile(r"#\s*include\s*[<\"](?:torch|ATen|c10|pybind11)/")


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
        same = header.compiler == self.toolchain.cxx
        if asked := split_rules.asked(call, self.precompiled.lacking, same_compiler=same):
            return Fall(f"source: it asks for {asked}")
        plan = Plan(self.toolchain, self.precompiled, call, flags, arch, module, header)
        bench.write(plan.files, own=plan.own)
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

    def _header(self, call: ExtensionCall, flags: Flags) -> Header | Fall:
        """The precompiled header for the call, if it is there; else it is asked for."""
        if not call.is_python_module:
            return Fall("source: not a Python module")
        kind: Kind = "cuda" if call.with_cuda else "cpu"
        texts = stock.sources_of(call).values()
        if kind == "cpu" and not any(_USES_TORCH.search(text) for text in texts):
            return Fall("source: it includes nothing of torch, and the stock build is as fast")
        kept: Sequence[str] | Fall = flags.cxx
        if call.with_cuda:
            kept = split_rules.cuda_host_flags(call, flags, self.toolchain.standard)
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
        self, plan: Plan, ended: Sequence[Ended | None], kind: Kind
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
            if kind == "cpu" or not file.endswith(CUDA_SOURCES) or (plan.merged and alone):
                texts = {n: t for n, t in plan.texts.items() if not n.endswith(CUDA_SOURCES)}
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
