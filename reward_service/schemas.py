"""The wire format: what a client sends (`Submission`) and what it gets back (`Verdict`).

This module is the only definition of it, and it needs nothing but pydantic, so that a
trainer's host can import it. Units are seconds, bytes and ratios; times are UTC.

An illegal verdict cannot be built: a validator ties the outcome to the reasons, the reward and
the fields that it allows. A kernel that fails is a scored outcome with a reward; a service that
fails is `unscored`, and its reward is `None`, never a number.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

MAX_SOURCE_CHARS = 1 << 20
MAX_MESSAGE_CHARS = 2_000
MAX_LOG_CHARS = 8_000
MAX_FALLBACK_CHARS = 300
MAX_BATCH = 1_024

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_./@-]{0,127}$")]
DeviceName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")]
Source = Annotated[str, StringConstraints(min_length=1, max_length=MAX_SOURCE_CHARS)]
Text = Annotated[str, StringConstraints(max_length=MAX_SOURCE_CHARS)]
Tag = Annotated[str, StringConstraints(max_length=200)]


class _Wire(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="null")


def _one_of(*fields: str) -> dict[str, Any]:
    """JSON schema of a model that takes exactly one of some fields."""
    text = {"type": "string"}
    return {"oneOf": [{"required": [f], "properties": {f: text}} for f in fields]}


class Outcome(StrEnum):
    """What became of a submission."""

    CORRECT = "correct"
    """It built, matched the reference, and was timed (unless the policy says not to)."""
    BUILT = "built"
    """It compiled, and the policy asked to stop there."""
    INCORRECT = "incorrect"
    """It ran and was wrong."""
    COMPILE_ERROR = "compile_error"
    """Its build failed."""
    RUNTIME_ERROR = "runtime_error"
    """It crashed."""
    TIMEOUT = "timeout"
    """Its own time ran out on a healthy device."""
    REJECTED = "rejected"
    """It tried to cheat, or would pass only by cheating."""
    UNSCORED = "unscored"
    """We could not tell. This says nothing about the candidate."""


class Reason(StrEnum):
    """Why an outcome was given; the names are stable."""

    MISMATCH = "MISMATCH"
    NONFINITE = "NONFINITE"
    SCHEMA = "SCHEMA"
    ALIAS = "ALIAS"
    INPUT_MUTATED = "INPUT_MUTATED"
    NONDETERMINISTIC = "NONDETERMINISTIC"
    STALE = "STALE"
    STATE = "STATE"
    OUT_OF_BOUNDS = "OUT_OF_BOUNDS"

    BUILD_FAILED = "BUILD_FAILED"
    BUILD_TIMEOUT = "BUILD_TIMEOUT"
    BUILD_LIMIT = "BUILD_LIMIT"
    BUILD_FORBIDDEN = "BUILD_FORBIDDEN"

    LOAD_FAILED = "LOAD_FAILED"
    EXCEPTION = "EXCEPTION"
    CUDA_FAULT = "CUDA_FAULT"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    EARLY_EXIT = "EARLY_EXIT"
    PROTOCOL = "PROTOCOL"

    RUN_TIMEOUT = "RUN_TIMEOUT"

    CLOCK_DISAGREE = "CLOCK_DISAGREE"
    CONCURRENCY = "CONCURRENCY"
    NO_CUSTOM_KERNEL = "NO_CUSTOM_KERNEL"
    PRECISION = "PRECISION"
    PHYSICS = "PHYSICS"
    TAMPERING = "TAMPERING"
    FORBIDDEN = "FORBIDDEN"

    NO_DEVICE = "NO_DEVICE"
    DEVICE_UNHEALTHY = "DEVICE_UNHEALTHY"
    WORKER_LOST = "WORKER_LOST"
    QUEUE_DEADLINE = "QUEUE_DEADLINE"
    CANCELLED = "CANCELLED"
    BAD_PROBLEM = "BAD_PROBLEM"
    INTERNAL = "INTERNAL"


REASONS: dict[Outcome, frozenset[Reason]] = {
    Outcome.CORRECT: frozenset(),
    Outcome.BUILT: frozenset(),
    Outcome.INCORRECT: frozenset(
        {
            Reason.MISMATCH,
            Reason.NONFINITE,
            Reason.SCHEMA,
            Reason.ALIAS,
            Reason.INPUT_MUTATED,
            Reason.NONDETERMINISTIC,
            Reason.STALE,
            Reason.STATE,
            Reason.OUT_OF_BOUNDS,
        }
    ),
    Outcome.COMPILE_ERROR: frozenset(
        {
            Reason.BUILD_FAILED,
            Reason.BUILD_TIMEOUT,
            Reason.BUILD_LIMIT,
            Reason.BUILD_FORBIDDEN,
        }
    ),
    Outcome.RUNTIME_ERROR: frozenset(
        {
            Reason.LOAD_FAILED,
            Reason.EXCEPTION,
            Reason.CUDA_FAULT,
            Reason.OUT_OF_MEMORY,
            Reason.EARLY_EXIT,
            Reason.PROTOCOL,
        }
    ),
    Outcome.TIMEOUT: frozenset({Reason.RUN_TIMEOUT}),
    Outcome.REJECTED: frozenset(
        {
            Reason.CLOCK_DISAGREE,
            Reason.CONCURRENCY,
            Reason.NO_CUSTOM_KERNEL,
            Reason.PRECISION,
            Reason.PHYSICS,
            Reason.TAMPERING,
            Reason.FORBIDDEN,
        }
    ),
    Outcome.UNSCORED: frozenset(
        {
            Reason.NO_DEVICE,
            Reason.DEVICE_UNHEALTHY,
            Reason.WORKER_LOST,
            Reason.QUEUE_DEADLINE,
            Reason.CANCELLED,
            Reason.BAD_PROBLEM,
            Reason.INTERNAL,
        }
    ),
}
"""The reasons that each outcome allows; each reason belongs to exactly one outcome."""

OUTCOME_OF: dict[Reason, Outcome] = {
    reason: outcome for outcome, reasons in REASONS.items() for reason in reasons
}

NEVER_RETRYABLE: frozenset[Reason] = frozenset({Reason.BAD_PROBLEM, Reason.CANCELLED})
"""Unscored reasons where the same submission would meet the same end."""


# --- what a client sends -------------------------------------------------------------------


class Problem(_Wire, json_schema_extra=_one_of("source", "name")):
    """The PyTorch reference: its source, or the name of one that the service has."""

    source: Source | None = None
    """Python source that defines `Model`, `get_inputs` and `get_init_inputs`."""
    name: Name | None = None
    """A problem listed at `/problems`, such as `level1/relu`."""

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.source is None) == (self.name is None):
            raise ValueError("give exactly one of 'source' and 'name'")
        return self


_FORMS = (
    ("a program", "kernelbench", ("source",)),
    ("a completion", "kernelbench", ("text",)),
    ("an infill", "infill", ("prefix", "middle", "suffix")),
)
"""The ways to give a candidate: title, format, fields."""
_PARTS = tuple(name for _, _, names in _FORMS for name in names)


def _describe_forms(schema: dict[str, Any]) -> None:
    """Say in the JSON schema which fields go together."""
    schema["oneOf"] = [
        {
            "title": title,
            "required": [*names, *(["format"] if format != "kernelbench" else [])],
            "properties": {
                "format": {"const": format},
                **{part: {"type": "string" if part in names else "null"} for part in _PARTS},
            },
        }
        for title, format, names in _FORMS
    ]


class Candidate(_Wire):
    """The program to judge: as it is, within a model's completion, or as a part that is filled in.

    Give `source`, or `text`, or (format `infill`) `prefix`, `middle` and `suffix`.
    """

    model_config = ConfigDict(json_schema_extra=_describe_forms)

    format: Literal["kernelbench", "infill"] = "kernelbench"
    """`kernelbench`: Python source that defines `ModelNew`. `infill`: such a source in three
    parts, of which a model wrote the middle."""
    source: Source | None = None
    """The program."""
    text: Text | None = None
    """What a model said, with the program in it; it may be empty, for a model may say nothing."""
    prefix: Text | None = None
    """What stands before the middle; with the suffix it is the scaffold."""
    middle: Text | None = None
    """What the model filled in; it may be empty, for a model may say nothing."""
    suffix: Text | None = None
    """What stands behind the middle."""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        given = {part for part in _PARTS if getattr(self, part) is not None}
        wanted = {part for _, format, parts in _FORMS if format == self.format for part in parts}
        errors = dict.fromkeys(given - wanted, f"format {self.format!r} does not take it")
        if self.format == "infill":
            errors |= dict.fromkeys(wanted - given, "format 'infill' needs it")
            if not errors and not self.prefix and not self.suffix:
                errors["prefix"] = "prefix and suffix must not both be empty"
            if sum(len(getattr(self, part) or "") for part in wanted) > MAX_SOURCE_CHARS:
                errors["middle"] = f"the three parts have more than {MAX_SOURCE_CHARS} characters"
        elif len(wanted & given) != 1:
            errors["text" if "text" in given else "source"] = (
                "give exactly one of 'source' and 'text'"
            )
        if errors:
            # Raised so, each keeps the name of its field; a ValueError would be of the whole.
            raise ValidationError.from_exception_data(
                "Candidate", [_fault(part, errors[part]) for part in _PARTS if part in errors]
            )
        return self


def _fault(field: str, why: str) -> InitErrorDetails:
    error = PydanticCustomError("candidate", "{why}", {"why": why})
    return InitErrorDetails(type=error, loc=(field,), input=None)


class Policy(_Wire):
    """How to judge. The defaults do what a newcomer expects."""

    device: DeviceName = "any"
    """A device class listed at `/devices`, or `any`."""
    reward: Name = "log_speedup"
    """A reward config listed at `/rewards`."""
    precision: Literal["fp32", "tf32", "fp16", "bf16"] = "fp32"
    """The lowest precision that arithmetic on fp32 values may have."""
    library: Literal["partial", "forbid", "allow"] = "partial"
    """Library kernels: beside the candidate's own, never, or even alone."""
    baseline: Literal["eager", "compile"] = "eager"
    """What the speedup is against: the reference as it is, or under `torch.compile`."""
    timing: bool = True
    """False: judge correctness only; the verdict then has no speedup."""
    time_limit_s: Annotated[float, Field(gt=0, le=600)] | None = None
    """Seconds that one call of the candidate may take; by default set from the reference."""
    min_custom_share: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Share of a call's device time that the candidate's own kernels must hold, unless the policy
    is `library: allow`."""
    stop_after: Literal["build", "correctness"] | None = None
    """Stop early, and answer with what is known by then."""


class Submission(_Wire):
    """One candidate for one problem, and how to judge it."""

    problem: Problem
    candidate: Candidate
    policy: Policy = Policy()
    deadline_s: Annotated[float, Field(gt=0, le=86_400)] = 300.0
    """The client's patience, from acceptance; past it the verdict is unscored/QUEUE_DEADLINE."""
    priority: Literal["train", "eval"] = "train"
    tags: Annotated[dict[Name, Tag], Field(max_length=16)] = {}


# --- what a client gets back ----------------------------------------------------------------


class Check(_Wire):
    """One thing that was checked, and what was seen."""

    name: str
    passed: bool
    evidence: dict[str, Any] = {}
    """Bounded facts, such as the worst error, its bound and its index."""


class Speedup(_Wire):
    """Baseline time over candidate time, with its 95 % interval."""

    value: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    low: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    high: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    baseline: Literal["eager", "compile"]

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.low <= self.value <= self.high:
            raise ValueError("a speedup must lie inside its own interval")
        return self


class Timing(_Wire):
    """Seconds of one call."""

    median: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    spread: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    """Half the distance between the quartiles."""
    calls: Annotated[int, Field(ge=1)]


class BuildReport(_Wire):
    """How the candidate's extensions were made."""

    path: Literal["none", "cache", "split", "stock"]
    """The rung of the build ladder; `none` where there was nothing to build."""
    cached: bool = False
    seconds: Annotated[float, Field(ge=0)] = 0.0
    fallback: Annotated[str, StringConstraints(max_length=MAX_FALLBACK_CHARS)] | None = None
    """Why the split rung was left: `<code>: <detail>`; codes: toolchain, flags, source,
    device_pass, host_pass, kernels, link."""
    log_tail: Annotated[str, StringConstraints(max_length=MAX_LOG_CHARS)] = ""


class Provenance(_Wire):
    """Where a verdict comes from: enough to say whether two verdicts can be compared."""

    service_version: str
    harness_hash: str
    device_class: str | None = None
    device_name: str | None = None
    device_uuid: str | None = None
    driver: str | None = None
    torch: str | None = None
    cuda: str | None = None
    compiler: str | None = None
    clocks: dict[str, float] = {}
    """MHz while measuring, where the device says (`sm`, `memory`)."""
    isolation: str | None = None
    problem_hash: str | None = None
    candidate_hash: str | None = None
    seed: str | None = None
    """Hex seed of this evaluation's values; drawn from the system, told only afterwards."""


class RewardConfigRef(_Wire):
    """The reward config that a number comes from."""

    name: str
    version: int
    hash: str

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


class Verdict(_Wire):
    """The answer: outcome, reason and evidence, and the reward where there is one."""

    id: str
    outcome: Outcome
    reason: Reason | None = None
    message: Annotated[str, StringConstraints(max_length=MAX_MESSAGE_CHARS)] = ""
    """For a person."""
    reward: Annotated[float, Field(allow_inf_nan=False)] | None = None
    reward_config: RewardConfigRef | None = None
    compiled: bool | None = None
    """None: not known."""
    correct: bool | None = None
    """None: not known."""
    checks: tuple[Check, ...] = ()
    speedup: Speedup | None = None
    reference_time_s: Timing | None = None
    candidate_time_s: Timing | None = None
    stages: dict[str, float] = {}
    """Seconds spent in each stage."""
    build: BuildReport | None = None
    provenance: Provenance
    warnings: tuple[str, ...] = ()
    retryable: bool = False

    @model_validator(mode="after")
    def _legal(self) -> Self:
        allowed = REASONS[self.outcome]
        if (self.reason not in allowed) if allowed else (self.reason is not None):
            raise ValueError(f"outcome {self.outcome} does not allow reason {self.reason}")
        numberless = self.outcome in (Outcome.BUILT, Outcome.UNSCORED)
        if (self.reward is None) != numberless:
            raise ValueError(f"outcome {self.outcome} with reward {self.reward}")
        if self.reward is not None and self.reward_config is None:
            raise ValueError("a reward must name its config")
        if self.retryable and (
            self.outcome is not Outcome.UNSCORED or self.reason in NEVER_RETRYABLE
        ):
            raise ValueError(f"{self.outcome}/{self.reason} is never retryable")
        if (self.correct is True) != (self.outcome is Outcome.CORRECT):
            raise ValueError(f"outcome {self.outcome} with correct={self.correct}")
        if self.outcome is Outcome.INCORRECT and self.correct is not False:
            raise ValueError("an incorrect verdict must say correct=False")
        must_compile = self.outcome in (Outcome.CORRECT, Outcome.BUILT, Outcome.INCORRECT)
        if must_compile and self.compiled is not True:
            raise ValueError(f"outcome {self.outcome} with compiled={self.compiled}")
        if self.outcome is Outcome.COMPILE_ERROR and self.compiled is not False:
            raise ValueError("a compile_error must say compiled=False")
        if self.speedup is not None and self.outcome is not Outcome.CORRECT:
            raise ValueError("only a correct verdict has a speedup")
        if any(not math.isfinite(s) or s < 0 for s in self.stages.values()):
            raise ValueError("stage times must be finite and not negative")
        return self


class State(StrEnum):
    """Where an evaluation is."""

    QUEUED = "queued"
    BUILDING = "building"
    BUILT = "built"
    RUNNING = "running"
    DONE = "done"


class Evaluation(_Wire):
    """The state of one evaluation, and its verdict once there is one."""

    id: str
    state: State
    verdict: Verdict | None = None
    tags: dict[str, str] = {}

    @model_validator(mode="after")
    def _done_has_verdict(self) -> Self:
        if (self.verdict is not None) != (self.state is State.DONE):
            raise ValueError("an evaluation has a verdict when, and only when, it is done")
        return self


class BatchSubmission(_Wire):
    """Many submissions at once; all are taken, or none."""

    submissions: Annotated[list[Submission], Field(min_length=1, max_length=MAX_BATCH)]


class Batch(_Wire):
    """The state of a batch: one place a submission, in the order that they came in."""

    id: str
    total: int
    done: int
    states: dict[State, int]
    """How many are where."""
    verdicts: tuple[Verdict | None, ...]
    """None: not done yet."""


class ProblemInfo(_Wire):
    """A problem that the service has."""

    name: str
    level: int
    title: str
    hash: str


class RewardInfo(_Wire):
    """A reward config that the service has."""

    name: str
    version: int
    hash: str
    description: str
    parameters: dict[str, float] = {}


class DeviceInfo(_Wire):
    """A device that a live worker serves."""

    device_class: str
    name: str
    uuid: str
    state: Literal["idle", "busy", "quarantined", "starting"]
    isolation: str
    worker: str
    memory_bytes: int | None = None


class ProblemDetails(BaseModel):
    """An error of a request or of the service (RFC 9457); never a bad kernel."""

    model_config = ConfigDict(extra="allow")

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[dict[str, str]] = []
    """For 422 and 413: each with `field` (dotted path) and `message`."""
