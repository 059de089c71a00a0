"""The build stage: lifts a candidate's extensions out of it and has a module made for each.

    (Submission, problem source, Context) -> Built | Finding

The ladder: the artifact store, the split build, the stock build. The split build hands on what it
cannot know, and the report says why; the candidate's own error ends the ladder. A failure that must
repeat itself (an error in the candidate's source) is kept as an artifact is, under the same key;
one of time or memory is not. Nothing of the candidate runs in this process.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from types import TracebackType
from typing import Literal, Self

from reward_service.build import diagnose, flags, split, stock
from reward_service.build.blame import Fall
from reward_service.build.flags import Flags
from reward_service.build.key import artifact_key
from reward_service.build.precompiled import HEADERS, Precompiled
from reward_service.build.store import module_name, open_store
from reward_service.build.toolchain import Toolchain
from reward_service.build.workbench import Bounds, Compiled, Workbench
from reward_service.devices.detect import gpus
from reward_service.findings import Built, Context, Finding
from reward_service.formats import kernelbench
from reward_service.formats.extension_call import ExtensionCall
from reward_service.formats.hints import hints
from reward_service.formats.program import program_of
from reward_service.formats.record import record
from reward_service.sandbox import isolation
from reward_service.sandbox.box import Boxes
from reward_service.schemas import MAX_FALLBACK_CHARS, BuildReport, Reason, Submission
from reward_service.settings import Settings

_DEFAULT_ARCH = "9.0"
_FINAL = frozenset({Reason.BUILD_FAILED, Reason.BUILD_FORBIDDEN})


@dataclass(frozen=True)
class _Made:
    """One module, and how it came about."""

    key: str
    report: BuildReport
    warnings: tuple[str, ...]


class BuildStage:
    """Builds submissions, one at a time; a context manager.

    On entry it finds out what the sandbox is worth here and raises PrerequisiteError if that is
    less than `min_isolation`.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        split: bool = True,
        prepare: bool = True,
        progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`split`: whether the ladder has that rung. Its usual precompiled headers are made on
        entry, and `progress` hears of that; without `prepare` each is made when first needed,
        which is right for a process that builds once."""
        self._settings = settings
        self._split = split
        self._prepares = prepare
        self._progress = progress
        self._state_dir = settings.state_dir.expanduser()
        self._store = open_store(settings)
        self._stack = contextlib.ExitStack()
        self._boxes: Boxes | None = None

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            prepared = Boxes.prepare(self._state_dir, self._settings.runner_uid_base)
            self._boxes = stack.enter_context(prepared)
            isolation.require(self._settings.min_isolation, self._boxes.isolation)
            if self._split and self.toolchain.cxx is not None:
                stack.callback(self.precompiled.close)
                if self._prepares:
                    cuda = self.toolchain.nvcc is not None
                    self.precompiled.prepare(self.precompiled.usual(cuda=cuda), self._progress)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._boxes = None
        self._stack.close()

    def __call__(self, submission: Submission, problem: str, context: Context) -> Built | Finding:
        """Build every extension of the candidate; `problem` is the reference's source.

        Raises NoProgramError if the candidate has no program, PrerequisiteError if this machine
        lacks the compiler, QueueDeadlineError or CancelledError when nobody waits any more.
        """
        context.check()
        source = program_of(submission.candidate)
        found = self._calls(source, problem, context)
        if isinstance(found, Finding):
            return found
        calls, notes = found
        notes = (*notes, *hints(source))
        if not calls:
            return Built(report=BuildReport(path="none"), warnings=notes)
        made: dict[str, _Made] = {}
        for call in calls:
            result = self._make(call, context)
            if isinstance(result, Finding):
                return result
            made[call.key] = result
        cuda = any(call.with_cuda for call in calls)
        warnings = [*notes, *(w for m in made.values() for w in m.warnings)]
        return Built(
            artifacts={key: m.key for key, m in made.items()},
            report=_together([m.report for m in made.values()]),
            compiler=self.toolchain.describe(cuda=cuda),
            warnings=tuple(dict.fromkeys(warnings)),
        )

    @cached_property
    def toolchain(self) -> Toolchain:
        """What this machine compiles with."""
        return Toolchain.find(self._state_dir)

    @cached_property
    def precompiled(self) -> Precompiled:
        """The headers of the split rung."""
        return Precompiled(self.toolchain, self._settings.header_dir)

    @cached_property
    def arch(self) -> str:
        """The compute capability to build for."""
        if self._settings.cuda_arch:
            return self._settings.cuda_arch
        found = gpus()
        return found[0].compute_capability if found else _DEFAULT_ARCH

    def _calls(
        self, source: str, problem: str, context: Context
    ) -> tuple[list[ExtensionCall], tuple[str, ...]] | Finding:
        """The calls that the source shows, and those that running its module level shows."""
        extraction = kernelbench.extract(source)
        if isinstance(extraction, Finding):
            return replace(extraction, build=BuildReport(path="none"))
        calls = {call.key: call for call in extraction.calls}
        if extraction.needs_recording is None:
            return list(calls.values()), ()
        context.progress("recording what the candidate builds")
        recording = record(
            source,
            self._open_boxes,
            problem=problem if extraction.in_function else None,
            timeout_s=self._settings.load_timeout_s,
            memory_bytes=self._settings.build_memory_bytes,
            poll=context.check,
        )
        if isinstance(recording, Finding):
            return replace(recording, build=BuildReport(path="none"))
        calls.update((call.key, call) for call in recording.calls)
        notes = () if recording.note is None else (f"recording: {recording.note}",)
        return list(calls.values()), notes

    def _make(self, call: ExtensionCall, context: Context) -> _Made | Finding:
        """One rung after the other."""
        toolchain = self.toolchain
        toolchain.require(cuda=call.with_cuda)
        chosen = flags.choose(call, toolchain)
        if isinstance(chosen, Finding):
            return replace(chosen, build=BuildReport(path="none"))
        target = chosen.target(self.arch)
        key = artifact_key(call, chosen, target, toolchain, self._identity)
        known = self._known(key, chosen)
        if known is not None:
            return known
        context.progress(f"compiling {call.name[:60]!r}" if call.name else "compiling")
        return self._climb(call, chosen, key, context)

    @property
    def _identity(self) -> str | None:
        """Of the split rung, where this ladder has it."""
        return self.precompiled.identity if self._split else None

    def _known(self, key: str, chosen: Flags) -> _Made | Finding | None:
        failure = self._store.get_failure(key)
        if failure is not None:
            report = BuildReport(path="cache", cached=True, log_tail=failure["log_tail"])
            return Finding(Reason(failure["reason"]), failure["message"], build=report)
        meta = self._store.meta(key)
        if meta is None or self._store.get(key) is None:
            return None
        report = BuildReport(path="cache", cached=True, log_tail=meta["log_tail"])
        return _Made(key, report, tuple(dict.fromkeys([*chosen.warnings, *meta["warnings"]])))

    def _climb(
        self, call: ExtensionCall, chosen: Flags, key: str, context: Context
    ) -> _Made | Finding:
        """One rung after the other, within the time of one build."""
        begun = time.monotonic()
        name = module_name(key)
        fallback: str | None = None
        if self._split:
            wanted = None if self._prepares else context.progress
            rung = split.Rung(self.toolchain, self.precompiled, wanted)
            with self._bench(call, begun, context) as bench:
                result = rung.build(call, chosen, self.arch, name, bench)
                if not isinstance(result, Fall):
                    report = _report("split", begun, bench)
                    return self._keep(call, key, result, report, chosen.warnings)
            fallback = result.reason[:MAX_FALLBACK_CHARS]
        with self._bench(call, begun, context) as bench:
            plan = stock.plan(call, chosen, self.arch, name, self.toolchain)
            made = stock.build(plan, bench)
            report = _report("stock", begun, bench).model_copy(update={"fallback": fallback})
            return self._keep(call, key, made, report, (*chosen.warnings, *plan.warnings))

    def _bench(
        self, call: ExtensionCall, begun: float, context: Context
    ) -> contextlib.AbstractContextManager[Workbench]:
        """A workbench for what is left of one build's time."""
        settings = self._settings
        bounds = Bounds(
            settings.build_timeout_s - (time.monotonic() - begun),
            settings.build_memory_bytes,
            settings.build_output_bytes,
        )
        trees = self.toolchain.trees(cuda=call.with_cuda)
        if self._split:
            trees += [str(self.precompiled.root), str(HEADERS)]
        return Workbench.open(
            self.toolchain, self._open_boxes, bounds, trees=trees, poll=context.check
        )

    def _keep(
        self,
        call: ExtensionCall,
        key: str,
        result: Compiled | Finding,
        report: BuildReport,
        warnings: tuple[str, ...],
    ) -> _Made | Finding:
        """Store what came of it."""
        if isinstance(result, Finding):
            if result.reason in _FINAL:
                kept = {
                    "reason": result.reason.value,
                    "message": result.message,
                    "log_tail": report.log_tail,
                }
                self._store.put_failure(key, kept)
            return replace(result, build=report)
        meta = {
            "log_tail": report.log_tail,
            "warnings": list(warnings),
            "compiler": self.toolchain.describe(cuda=call.with_cuda),
            "seconds": report.seconds,
            "path": report.path,
        }
        self._store.put(key, result.module, meta)
        return _Made(key, report, warnings)

    @property
    def _open_boxes(self) -> Boxes:
        if self._boxes is None:
            raise RuntimeError("the build stage is used outside of its `with` block")
        return self._boxes


def _report(path: Literal["split", "stock"], begun: float, bench: Workbench) -> BuildReport:
    seconds = time.monotonic() - begun
    return BuildReport(path=path, seconds=seconds, log_tail=diagnose.log_tail(bench.log))


def _together(reports: list[BuildReport]) -> BuildReport:
    """One report for all extensions: the slowest rung, the seconds of all."""
    cached = all(r.cached for r in reports)
    paths = {r.path for r in reports if not r.cached}
    return BuildReport(
        path="cache" if cached else "stock" if "stock" in paths else "split",
        cached=cached,
        fallback=next((r.fallback for r in reports if r.fallback is not None), None),
        seconds=sum(r.seconds for r in reports),
        log_tail=diagnose.log_tail("".join(r.log_tail for r in reports)),
    )
