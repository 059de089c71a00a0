"""Whose kernel does the work? The candidate's share of the time, then what its ghost gives.

The share is judged first (witness.py): most programs without a kernel that counts need no ghost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reward_service.build.elf import MalformedError
from reward_service.findings import Finding
from reward_service.judge import witness
from reward_service.judge.device_code import own_kernels
from reward_service.judge.ghost import Effect, Modules, no_effect, place_modules, replay
from reward_service.judge.loading import Loading
from reward_service.judge.program import Program
from reward_service.judge.reference import Reference
from reward_service.judge.witness import WatchedCall
from reward_service.schemas import Policy, Reason

_PAUSES_S = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)
"""Before each time that calls are watched. A busy host can make them slow, for as long as it is
busy; a program that is slow when watched always is."""


@dataclass
class CustomWork:
    """The question, for one candidate that was right."""

    policy: Policy
    reference: Reference
    candidate: Program
    ghost: Program | None
    """A runner for the ghost; None where a ghost tells nothing."""
    loading: Loading
    """How the candidate was loaded."""
    modules: Modules
    ghost_modules: Path
    """The directory that the ghost reads them from."""
    verified_call: Callable[[], None]
    """Calls the candidate as it is always called."""
    is_right: Callable[[Program], bool]
    """Calls a program on fresh values, and says whether its output is right."""
    ghost_failure: Reason | None = None
    """What the ghost ended with, if it failed."""

    def judge(self, usual_s: float) -> dict[str, Any] | Finding:
        """The evidence, or why the candidate is refused; `usual_s`: seconds of a timed call."""
        kernels: Mapping[str, int] | None = None
        if self.candidate.device.kind == "cuda":
            try:
                kernels = own_kernels(module for _, module in self.modules.values())
            except MalformedError as error:
                return Finding(Reason.NO_CUSTOM_KERNEL, f"a module cannot be read: {error}")
        seen = self._watch(usual_s, kernels)
        if isinstance(seen, Finding):
            return seen
        finding = witness.judge_share(seen, self.policy)
        if finding is not None:
            return finding
        evidence = witness.evidence(seen, self.policy)
        if self.policy.library == "allow":
            return evidence
        evidence["ghost"] = "tells nothing" if self.ghost is None else self._replay(self.ghost)
        return no_effect(evidence) if evidence["ghost"] == "unchanged" else evidence

    def _watch(self, usual_s: float, kernels: Mapping[str, int] | None) -> WatchedCall | Finding:
        """The watched call to judge by."""
        tolerance = witness.ON_CPU if kernels is None else witness.ON_GPU
        calls: list[WatchedCall] = []
        for pause_s in _PAUSES_S:
            time.sleep(pause_s)
            calls = witness.watch(self.candidate, self.verified_call, kernels)
            seen = witness.believed(calls, usual_s, tolerance)
            if seen is not None:
                return seen
        if self.policy.library == "allow":
            return min(calls, key=lambda call: call.custom_share)
        return witness.not_believed(calls, usual_s, self.policy)

    def _replay(self, ghost: Program) -> Effect:
        empty = ghost.device.kind == "cuda"
        extensions = place_modules(self.modules, self.ghost_modules, empty=empty)
        loading = replace(self.loading, extensions=extensions)
        effect, self.ghost_failure = replay(ghost, loading, self.reference, self.is_right)
        return effect
