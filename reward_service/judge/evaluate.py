"""Judges one candidate against a prepared reference, from loading it to its speedup.

A failing candidate leaves here as a `Finding`; only a failing service raises.
"""

from __future__ import annotations

import random
import secrets
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from reward_service.errors import DeviceError
from reward_service.findings import Finding, Judgement
from reward_service.judge.calibrate import Calibration
from reward_service.judge.compare import same_bits
from reward_service.judge.custom_work import CustomWork
from reward_service.judge.device import DeviceFacts
from reward_service.judge.ghost import tells
from reward_service.judge.loading import Loading, load
from reward_service.judge.physics import floor
from reward_service.judge.program import Program, Run
from reward_service.judge.reference import Reference
from reward_service.judge.runner_client import CandidateError
from reward_service.judge.timing import Pairs, TimedCallFailedError, TimingPlan, time_pairs
from reward_service.judge.values import Variation, plan_trials
from reward_service.judge.verify import (
    Expectation,
    WorstSeen,
    verify_inputs,
    verify_outputs,
    verify_state,
)
from reward_service.runner.arena import BAND_BYTES
from reward_service.schemas import Check, Policy, Reason

TRIALS = 7
MIN_CALL_LIMIT_S = 2.0
MAX_CALL_LIMIT_S = 120.0
"""Of the limits that are set from the reference's time."""
_CALL_LIMIT_FACTOR = 100.0
_UNSOUND_TRIES = 3


@dataclass(frozen=True)
class Job:
    """What the judge is asked."""

    candidate_source: str
    extensions: dict[str, str]
    """Key of the extension call -> path of its module."""
    ghost_modules: Path
    """Where modules for a ghost go."""
    policy: Policy
    load_limit_s: float
    timing: TimingPlan


class CandidateFailedError(Exception):
    """Carries a finding out of the steps of an evaluation."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


@dataclass
class Evaluation:
    """One candidate under judgement."""

    reference: Reference
    candidate: Program
    job: Job
    facts: DeviceFacts
    calibration: Calibration
    progress: Callable[[str], None]
    checkpoint: Callable[[], None]
    """Raises when nobody waits for the answer any more."""
    start_ghost: Callable[[], Program]
    """Starts a second runner for the candidate."""
    ghost: Program | None = None
    ghost_failure: Reason | None = None
    checks: list[Check] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    stages: dict[str, float] = field(default_factory=dict)
    worst: WorstSeen = field(default_factory=WorstSeen)
    claimed_s: list[float] = field(default_factory=list)
    """What the candidate's process says of its calls, where they were not timed in pairs."""

    def judge(self) -> Judgement:
        """Run all the steps that the policy asks for."""
        pairs: Pairs | None = None
        failure: Finding | None = None
        try:
            with self._stage("load"):
                self._load()
            with self._stage("correctness"):
                self._try_values()
            self._require_extension()
            policy = self.job.policy
            if policy.library != "allow" and tells(self.reference):
                # It gets ready while the candidate is timed.
                self.ghost = self.start_ghost()
            if policy.timing and policy.stop_after != "correctness":
                with self._stage("timing"):
                    pairs = self._time()
            if self.job.extensions:
                with self._stage("custom_kernel"):
                    self._judge_work(pairs.candidate_time.median if pairs else self._usual_s())
        except (CandidateFailedError, TimedCallFailedError) as error:
            failure = error.finding
        except CandidateError as error:
            failure = Finding(error.reason, error.message)
        if failure is not None:
            failure = self._note_failure(failure)
        return Judgement(
            failure=failure,
            checks=tuple(self.checks),
            speedup=pairs.speedup if pairs and not failure else None,
            reference_time_s=pairs.reference_time if pairs else None,
            candidate_time_s=pairs.candidate_time if pairs else None,
            stages=self.stages,
            warnings=tuple(self.warnings),
        )

    # --- steps -----------------------------------------------------------------------------

    def _load(self) -> None:
        self.progress("loading the candidate")
        reference = self.reference
        self.modules = {
            key: (Path(path).name, Path(path).read_bytes())
            for key, path in self.job.extensions.items()
        }
        try:
            self.match = load(self.candidate, self._loading, reference)
        except CandidateError as error:
            if error.reason is Reason.EXCEPTION:
                raise CandidateFailedError(Finding(Reason.LOAD_FAILED, error.message)) from error
            raise
        if reference.seeded_state:
            self._check("state", True, parameters=_HOW[self.match.how])
            if not self.match.whole:
                self.warnings.append(
                    "the candidate keeps its parameters in another form than the reference: both "
                    "were constructed under one seed, and only constants have random values"
                )

    def _try_values(self) -> None:
        self.progress("checking correctness")
        source = self.reference.inputs
        kinds = plan_trials(source.domains, TRIALS, random.SystemRandom())
        repeat = secrets.randbelow(len(kinds))
        bitwise = True
        for number, kind in enumerate(kinds):
            self.checkpoint()
            expected = self._sound_expectation(kind)
            bitwise &= self._try_once(expected, repeat=number == repeat)
        controls = self.reference.controls
        self._check("outputs", True, **(self.worst.evidence or {}), trials=len(kinds))
        self._check("inputs_unchanged", True)
        self._check("bounds", True, band_bytes=BAND_BYTES)
        self._check("aliasing", True)
        self._check("determinism", True, bitwise=bitwise)
        self._check("expectation", True, float64=self.reference.has_double)
        self._check("negative_controls", not controls.weak, passed_wrongly=controls.weak)
        if controls.weak:
            self.warnings.append(
                "the problem is weak: these wrong answers would pass: " + ", ".join(controls.weak)
            )

    def _sound_expectation(self, kind: Variation) -> Expectation:
        for _ in range(_UNSOUND_TRIES):
            expected = self.reference.expect(self.reference.inputs.fresh(kind))
            if expected.sound:
                return expected
            kind = Variation.AS_DRAWN
        raise DeviceError(
            "the reference, which was sound when it was prepared, is outside its own bounds"
        )

    def _try_once(self, expected: Expectation, *, repeat: bool) -> bool:
        """One verified call; whether a repetition gave the same bits."""
        self.candidate.place(self.reference.shape.inputs, expected.values)
        run = self._call(self.candidate, expected, everything=True)
        lower = self.reference.lower_precisions
        self._raise(verify_outputs(run, expected, self.worst, lower))
        self._raise(self._verify_after(run, expected))
        if not repeat:
            return True
        again = self._call(self.candidate, expected, everything=False)
        finding = verify_outputs(again, expected, self.worst)
        if finding is not None:
            raise CandidateFailedError(
                Finding(
                    Reason.NONDETERMINISTIC,
                    f"called twice on the same values it was right, then wrong: {finding.message}",
                    evidence=finding.evidence,
                )
            )
        return all(same_bits(a, b) for a, b in zip(run.outputs, again.outputs, strict=True))

    def _verify_after(self, run: Run, expected: Expectation) -> Finding | None:
        """Inputs and state as the call left them."""
        precision = self.job.policy.precision
        finding = verify_inputs(run, expected, precision)
        if finding is None and self.match.whole:
            names = [name for name, _ in self.candidate.state]
            finding = verify_state(run, expected, names, self.match.places, precision)
        return finding

    def _call(self, program: Program, expected: Expectation, *, everything: bool) -> Run:
        run = program.run(
            expected.values,
            self.call_limit_s,
            restore=self.reference.stateful,
            renew=bool(secrets.randbits(1)),
            everything=everything,
        )
        if program is self.candidate:
            self.claimed_s.append(run.call.claimed_s)
        return run

    # --- whose work it is ------------------------------------------------------------------

    def _require_extension(self) -> None:
        if self.job.policy.library == "allow" or self.job.extensions:
            return
        raise CandidateFailedError(
            Finding(
                Reason.NO_CUSTOM_KERNEL,
                "the program builds no extension: all of its work is done by the library "
                "(policy `library: allow` accepts that)",
                evidence={"policy": self.job.policy.library, "share": 0.0},
            )
        )

    def _judge_work(self, usual_s: float) -> None:
        self.progress("looking whose work it is")
        work = CustomWork(
            policy=self.job.policy,
            reference=self.reference,
            candidate=self.candidate,
            ghost=self.ghost,
            loading=self._loading,
            modules=self.modules,
            ghost_modules=self.job.ghost_modules,
            verified_call=self._try_again,
            is_right=self._is_right,
        )
        evidence = work.judge(usual_s)
        self.ghost_failure = work.ghost_failure
        if isinstance(evidence, Finding):
            raise CandidateFailedError(evidence)
        self._check("custom_kernel", True, **evidence)

    def _try_again(self) -> None:
        self.checkpoint()
        self._try_once(self._sound_expectation(Variation.AS_DRAWN), repeat=False)

    def _is_right(self, program: Program) -> bool:
        self.checkpoint()
        expected = self._sound_expectation(Variation.AS_DRAWN)
        program.place(self.reference.shape.inputs, expected.values)
        run = self._call(program, expected, everything=False)
        return verify_outputs(run, expected, WorstSeen()) is None

    # --- timing ----------------------------------------------------------------------------

    def _measure(self) -> Pairs:
        return time_pairs(
            self.reference,
            self.candidate,
            self.job.timing,
            self.calibration.noise,
            call_limit_s=self.call_limit_s,
            resolution=self.calibration.resolution,
            worst=self.worst,
            verify_after=self._verify_after,
            baseline=self.job.policy.baseline,
            checkpoint=self.checkpoint,
        )

    def _time(self) -> Pairs:
        self.progress("timing")
        try:
            pairs = self._measure()
        except TimedCallFailedError as error:
            if error.finding.reason is not Reason.CLOCK_DISAGREE:
                raise
            # A busy host can make honest clocks disagree once; a lie makes them disagree again.
            pairs = self._measure()
        for name, clock in (("clock_window", pairs.window), ("clock_whole", pairs.whole)):
            self._check(
                name,
                True,
                excess_s=clock.excess_s,
                allowed_s=clock.allowed_s,
                overhead_s=clock.overhead_s,
            )
        self._require_possible(pairs.candidate_time.median)
        return pairs

    def _require_possible(self, median_s: float) -> None:
        """Nobody is faster than the bytes and the arithmetic allow."""
        facts = self.facts
        least = floor(
            self.reference.work,
            bandwidth_bytes_s=facts.bandwidth_bytes_s,
            cache_bytes=facts.cache_bytes,
            multiplications_s=facts.multiplications_s,
        )
        passed = median_s >= least.seconds
        self._check("physics", passed, **asdict(least), median_s=median_s)
        if not passed:
            raise CandidateFailedError(
                Finding(
                    Reason.PHYSICS,
                    f"{median_s * 1e6:.1f} us a call is less than {least.cause} "
                    f"({least.seconds * 1e6:.1f} us)",
                )
            )

    # --- helpers ---------------------------------------------------------------------------

    @property
    def _loading(self) -> Loading:
        job = self.job
        return Loading(
            source=job.candidate_source,
            extensions=job.extensions,
            allow_tf32=job.policy.precision != "fp32",
            limit_s=job.load_limit_s,
        )

    def _usual_s(self) -> float:
        """Seconds of a call of the candidate, where none was timed."""
        return statistics.median(self.claimed_s)

    @property
    def call_limit_s(self) -> float:
        """Seconds that one call of the candidate may take."""
        asked = self.job.policy.time_limit_s
        usual = min(MAX_CALL_LIMIT_S, _CALL_LIMIT_FACTOR * self.reference.call_s)
        return asked or max(MIN_CALL_LIMIT_S, usual)

    def _check(self, name: str, passed: bool, **evidence: Any) -> None:
        self.checks.append(Check(name=name, passed=passed, evidence=evidence))

    def _raise(self, finding: Finding | None) -> None:
        if finding is not None:
            raise CandidateFailedError(finding)

    def _note_failure(self, failure: Finding) -> Finding:
        """Turn the evidence of a failure into the check that it belongs to."""
        name = _CHECK_OF.get(failure.reason)
        if name is None:
            return failure
        self._check(name, False, **failure.evidence)
        return replace(failure, evidence={})

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.stages[name] = time.perf_counter() - start


_HOW = {
    "name": "loaded strictly",
    "value": "loaded, found by their seeded values",
    "constants": "constructed under one seed, with random constants",
}
_CHECK_OF = {
    Reason.MISMATCH: "outputs",
    Reason.NONFINITE: "outputs",
    Reason.SCHEMA: "outputs",
    Reason.PRECISION: "outputs",
    Reason.STALE: "outputs",
    Reason.ALIAS: "aliasing",
    Reason.OUT_OF_BOUNDS: "bounds",
    Reason.INPUT_MUTATED: "inputs_unchanged",
    Reason.STATE: "state_after",
    Reason.NONDETERMINISTIC: "determinism",
    Reason.CLOCK_DISAGREE: "clock_window",
    Reason.NO_CUSTOM_KERNEL: "custom_kernel",
}
