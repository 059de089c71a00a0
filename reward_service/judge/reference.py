"""A problem made ready: its reference loaded in a warm runner, and everything that is known of it
before any candidate is seen.

Preparing decides what calls look like, whether a float64 expectation exists, what domain each
input has, and whether the problem can tell a right answer from a wrong one (negative controls).
A reference that cannot be judged against raises `BadProblemError` with the reason.
"""

from __future__ import annotations

import operator
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from reward_service.errors import BadProblemError, DeviceError
from reward_service.judge.accuracy import Precision, comparable, measure, within
from reward_service.judge.compare import same_bits
from reward_service.judge.controls import LowerPrecision, lower_precision, weak_controls
from reward_service.judge.inputs import InputSource
from reward_service.judge.memory import Layout
from reward_service.judge.physics import Work
from reward_service.judge.program import CallShape, Program, Run, Values
from reward_service.judge.runner_client import ProblemRunnerError
from reward_service.judge.specs import DTYPES, TensorSpec, total_bytes
from reward_service.judge.values import Kind, Variation, randomise_state
from reward_service.judge.verify import (
    Expectation,
    LowerPrecisions,
    expectation,
    profile,
)
from reward_service.runner.outputs import Quirk
from reward_service.runner.page import Mode
from reward_service.schemas import Reason

REFERENCE_CALL_LIMIT_S = 60.0
COMPILE_LIMIT_S = 240.0
"""Of the first call where the baseline is `compile`; below the supervisor's patience."""
_SLOWDOWN, _SLOWDOWN_S = 5.0, 0.1
_MAX_DROPPED = 8
"""Parameters of which the dropped-parameter control is tried."""
_LOWER: dict[Precision, tuple[LowerPrecision, ...]] = {
    "fp32": ("tf32", "tf32_cut", "fp16", "bf16"),
    "tf32": ("bf16",),
    "fp16": ("bf16",),
    "bf16": (),
}
"""Precisions below each policy's, by which a secret downgrade is recognised."""


@dataclass(frozen=True)
class ReferenceKey:
    """What a prepared reference depends on."""

    source: str
    precision: Precision
    compiled: bool


@dataclass
class Controls:
    """What the negative controls showed."""

    weak: list[str] = field(default_factory=list)
    """Wrong answers that would pass on ordinary values; there should be none."""


class Reference:
    """A warm reference."""

    def __init__(
        self,
        key: ReferenceKey,
        program: Program,
        memory_limit: int,
        cache_bytes: int,
        generator: torch.Generator,
        checkpoint: Callable[[], None],
    ) -> None:
        self.key = key
        self.program = program
        self.memory_limit = memory_limit
        self.cache_bytes = cache_bytes
        self.generator = generator
        self.checkpoint = checkpoint
        self.construct_seed = secrets.randbits(62)
        self.init: dict[str, Any] = {}
        self.has_double = True
        self.controls = Controls()
        self.stateful = True
        """Whether a call changes the state that the next would start from."""
        self.work = Work(0)
        self.call_s = 0.0
        """Seconds of one call, by the judge's clock, a first idea."""

    # --- preparing -------------------------------------------------------------------------

    def prepare(self, progress: Callable[[str], None]) -> None:
        """Load, construct, draw, call, and try the controls."""
        try:
            progress("preparing the reference")
            self._load()
            self._construct()
            self._draw()
            self._shape_calls()
            self._randomise()
            self._check_calls()
            self._count_work()
            progress("trying wrong answers on it")
            self._try_controls()
        except ProblemRunnerError as error:
            if error.reason is Reason.RUN_TIMEOUT:
                raise BadProblemError(f"the reference takes too long: {error}") from error
            raise BadProblemError(f"the reference failed: {error}") from error

    def _load(self) -> None:
        self.program.ask("load", source=self.key.source, name="problem", extensions={})
        self.program.ask("numerics", allow_tf32=self.key.precision != "fp32")

    def _construct(self) -> None:
        self._build()
        seeded = self.program.read_state()
        self._build()
        again = self.program.read_state()
        if not all(same_bits(a, b) for a, b in zip(seeded, again, strict=True)):
            raise BadProblemError(
                "the reference is not deterministic: constructed twice under one seed, "
                "its parameters differ"
            )
        self.seeded_state = seeded

    def _build(self) -> None:
        answer = self.program.construct(
            cls="Model",
            seed=self.construct_seed,
            init=None,
            double=self.has_double,
            compiled=self.key.compiled,
        )
        self.init = answer["init"]
        self.has_double = answer["double"] is True

    def _draw(self) -> None:
        seed = secrets.randbits(62)
        tree, first = self.program.draw(seed)
        tree_again, again = self.program.draw(seed)
        if tree != tree_again or not _same_specs(first, again):
            raise BadProblemError("get_inputs() returns other shapes on each call")
        if not all(same_bits(a, b) for a, b in zip(first, again, strict=True)):
            raise BadProblemError(
                "the reference is not deterministic: get_inputs() twice under one seed differs"
            )
        if not first:
            raise BadProblemError("get_inputs() returns no tensor")
        _, second = self.program.draw(secrets.randbits(62))
        if not _same_specs(first, second):
            raise BadProblemError("get_inputs() returns other shapes under another seed")
        self.tree = tree
        self.inputs = InputSource(
            self.program, [first, second], self.program.device.device, self.generator
        )
        if all(domain.kind is Kind.FIXED for domain in self.inputs.domains):
            raise BadProblemError(
                "get_inputs() gives the same values under every seed, so that an answer could be "
                "kept from call to call; draw them at random, from the global generator"
            )

    def _shape_calls(self) -> None:
        inputs = Layout.of(TensorSpec.of(tensor) for tensor in self.inputs.base)
        self._fits(inputs.end)
        self.program.bind(self.tree, inputs, self.inputs.fresh(Variation.AS_DRAWN))
        limit = COMPILE_LIMIT_S if self.key.compiled else REFERENCE_CALL_LIMIT_S
        working = self.program.ask("probe", limit, mode=int(Mode.WORKING), seed=1)
        specs = self.program.read_specs(working["tensors"])
        if not specs or total_bytes(specs) == 0:
            raise BadProblemError("forward() returns no tensor, or only empty ones")
        for index, item in enumerate(specs):
            if not comparable(DTYPES[item.dtype]):
                raise BadProblemError(
                    f"output {index} is {item.dtype}, for which there are no error bounds"
                )
        outputs = {Mode.WORKING: Layout.of(specs)}
        if self.has_double:
            double = self._probe_double(working["tree"], specs)
            if double is None:
                self.has_double = False
            else:
                outputs[Mode.DOUBLE] = Layout.of(double)
        end = max(layout.end for layout in outputs.values())
        inputs_after = Layout.of(inputs.specs, end)
        state_after = Layout.of((item for _, item in self.program.state), inputs_after.end)
        self._fits(inputs.end + state_after.end)
        self.shape = CallShape(
            self.tree,
            inputs,
            working["tree"],
            outputs,
            inputs_after,
            state_after,
            tuple(Quirk(int(output), str(what)) for output, what in working["quirks"]),
        )
        self.program.expect(self.shape)

    def _probe_double(
        self, tree: dict[str, Any], working: Sequence[TensorSpec]
    ) -> tuple[TensorSpec, ...] | None:
        """Specs of the float64 twin's outputs; None where it is no twin."""
        try:
            answer = self.program.ask(
                "probe", REFERENCE_CALL_LIMIT_S, mode=int(Mode.DOUBLE), seed=1
            )
        except ProblemRunnerError as error:
            if error.reason in (Reason.EARLY_EXIT, Reason.PROTOCOL, Reason.RUN_TIMEOUT):
                raise
            return None
        specs = self.program.read_specs(answer["tensors"])
        alike = answer["tree"] == tree and all(
            a.shape == b.shape and a.dtype == _DOUBLE_OF.get(b.dtype, b.dtype)
            for a, b in zip(specs, working, strict=True)
        )
        return specs if alike else None

    def _fits(self, size: int) -> None:
        if size > self.memory_limit:
            raise BadProblemError(
                f"the inputs and outputs take {size / 2**30:.1f} GiB, over this worker's limit "
                f"of {self.memory_limit / 2**30:.1f} GiB"
            )

    def _randomise(self) -> None:
        self.random_state = [
            randomise_state(name, tensor, self.generator)
            for (name, _), tensor in zip(self.program.state, self.seeded_state, strict=True)
        ]
        self.use_state(self.random_state)

    def _check_calls(self) -> None:
        values = self.inputs.fresh(Variation.AS_DRAWN)
        first = self.run(values, everything=True)
        again = self.run(values, everything=True)
        if not all(_alike(a, b) for a, b in zip(first.outputs, again.outputs, strict=True)):
            raise BadProblemError(
                "the reference is not deterministic: called twice on the same values under one "
                "seed, its outputs differ"
            )
        self.call_s = min(first.call.wall_s, again.call.wall_s)
        self.stateful = not all(
            same_bits(a, b) for a, b in zip(first.state_after, self.random_state, strict=True)
        )
        # A twin may disagree: a generator, for instance, draws other numbers in float64.
        self.has_double = self.has_double and self.expect_after(values, first).sound

    def _count_work(self) -> None:
        """What no candidate can avoid; only of inputs that the judge fills without structure."""
        generated = [i for i, domain in enumerate(self.inputs.domains) if domain.generated]
        reads = self.shape.inputs.end + self.shape.outputs[Mode.WORKING].end > self.cache_bytes
        answer = self.program.ask("work", REFERENCE_CALL_LIMIT_S, generated=generated, reads=reads)
        sizes = [self.shape.inputs.specs[index].nbytes for index in generated]
        self.work = Work(
            output_bytes=total_bytes(self.shape.outputs[Mode.WORKING].specs),
            input_bytes=sum(map(operator.mul, sizes, map(float, answer["shares"]))),
            multiplications=int(answer["multiplications"]),
        )

    def _try_controls(self) -> None:
        expected = self.expect(self.inputs.fresh(Variation.AS_DRAWN))
        weak = weak_controls(expected.exact, expected.values.tensors, expected.limits)
        weak += self._dropped_parameters(expected)
        passing = self._passing_precisions(expected)
        if passing:  # on ordinary values; the trials have others
            fine = self._passing_precisions(self.expect(self.inputs.fresh(Variation.FINE)))
            passing = [name for name in passing if name in fine]
        self.controls = Controls(weak + [f"{name}_arithmetic" for name in passing])

    def _passing_precisions(self, expected: Expectation) -> list[str]:
        """Lower precisions whose errors are within the bounds."""
        return [
            name
            for name, errors in self.lower_precisions(expected).items()
            if all(
                limit is None or (error is not None and within(error, limit))
                for error, limit in zip(errors, expected.limits, strict=True)
            )
        ]

    def _dropped_parameters(self, expected: Expectation) -> list[str]:
        """Parameters whose absence (zeros) would not be noticed."""
        floats = [i for i, tensor in enumerate(self.state) if tensor.is_floating_point()]
        unnoticed = [
            f"dropped_{self.program.state[i][0]}"
            for i in floats[:_MAX_DROPPED]
            if not self._shows(i, torch.zeros_like(self.state[i]), expected)
        ]
        self.program.write_state(self.state)
        return unnoticed

    def visible(self, places: Sequence[int]) -> list[str]:
        """The names of what lies at these places of the state, where random values show."""
        if not places:
            return []
        expected = self.expect(self.inputs.fresh(Variation.AS_DRAWN))
        names = [
            self.program.state[i][0]
            for i in places
            if self._shows(i, self.random_state[i], expected)
        ]
        self.program.write_state(self.state)
        return names

    def _shows(self, place: int, tensor: Tensor, expected: Expectation) -> bool:
        """Whether outputs on the values of `expected`, which are placed, are wrong with another
        tensor in one place of the state."""
        state = list(self.state)
        state[place] = tensor
        self.program.write_state(state)
        run = self.run(expected.values, placed=True)
        return not all(
            torch.equal(got, want) if limit is None else within(measure(got, want), limit)
            for got, want, limit in zip(run.outputs, expected.exact, expected.limits, strict=True)
        )

    def lower_precisions(self, expected: Expectation) -> LowerPrecisions:
        """The errors, output by output, of the reference in each lower precision, and with only
        what goes into it in that precision (`tf32_operands`).

        They are taken on the very values of `expected`, because what rounding does depends on
        them: sums of positive values average it away. The reference has its state again afterwards.
        """
        if not self.has_double or all(limit is None for limit in expected.limits):
            return {}
        profiles: LowerPrecisions = {}
        for name in _LOWER[self.key.precision]:
            self.program.write_state([lower_precision(t, name) for t in self.state])
            rounded = Values.of(
                [lower_precision(t, name) for t in expected.values.tensors], expected.values.seed
            )
            outputs = self.run(rounded).outputs
            profiles[name] = profile(expected, [lower_precision(t, name) for t in outputs])
            profiles[f"{name}_operands"] = profile(expected, outputs)
        self.program.write_state(self.state)
        on_gpu = self.program.device.device.type == "cuda"
        if on_gpu and self.key.precision == "fp32" and not self.key.compiled:
            profiles |= self._tensor_cores(expected)
        return profiles

    def _tensor_cores(self, expected: Expectation) -> LowerPrecisions:
        """Products really done in TF32: tensor cores also cut what they add up.

        Nothing where that makes no difference, as in a reference without products.
        """
        self.program.ask("numerics", allow_tf32=True)
        outputs = self.run(expected.values).outputs
        self.program.ask("numerics", allow_tf32=False)
        if all(same_bits(a, b) for a, b in zip(outputs, expected.working.outputs, strict=True)):
            return {}
        return {"tf32_products": profile(expected, outputs)}

    def bind(self, candidate: Program) -> None:
        """Tell a candidate what its calls look like."""
        values = self.inputs.fresh(Variation.AS_DRAWN)
        candidate.bind(self.tree, self.shape.inputs, values)
        candidate.expect(self.shape_for(candidate), revisit=True)

    # --- in use ----------------------------------------------------------------------------

    def use_state(self, state: Sequence[Tensor]) -> None:
        """Give the reference a state, from which every call starts."""
        self.state = list(state)
        self.program.write_state(self.state)

    def run(
        self,
        values: Values,
        *,
        mode: Mode = Mode.WORKING,
        placed: bool = False,
        everything: bool = False,
        renew: bool = False,
    ) -> Run:
        """Call the reference on values, from its saved state."""
        self.checkpoint()
        if not placed:
            self.program.place(self.shape.inputs, values)
        return self.program.run(
            values,
            REFERENCE_CALL_LIMIT_S,
            mode=mode,
            restore=self.stateful,
            everything=everything,
            renew=renew,
        )

    def require_room(self, candidate: Program) -> None:
        """Raise if a candidate's state is larger than this worker can hold beside the inputs."""
        specs = (item for _, item in candidate.state)
        end = Layout.of(specs, self.shape.inputs_after.end).end
        if self.shape.inputs.end + end > self.memory_limit:
            raise candidate.client.failure(
                Reason.OUT_OF_MEMORY, "its parameters and buffers take more than this worker has"
            )

    def shape_for(self, candidate: Program) -> CallShape:
        """The shape of a candidate's calls: the reference's, with the candidate's own state."""
        specs = (item for _, item in candidate.state)
        state_after = Layout.of(specs, self.shape.inputs_after.end)
        outputs = {Mode.WORKING: self.shape.outputs[Mode.WORKING]}
        return replace(self.shape, outputs=outputs, state_after=state_after)

    def require_usual_speed(self) -> None:
        """Raise `DeviceError` if the reference itself is far slower now than when it was prepared:
        then a time limit says nothing about a candidate."""
        seconds = self.run(self.inputs.fresh(Variation.AS_DRAWN)).call.wall_s
        if seconds > _SLOWDOWN * self.call_s + _SLOWDOWN_S:
            raise DeviceError(
                f"a call of the reference takes {seconds:.3g} s, {self.call_s:.3g} s when it was "
                "prepared: the host is too busy to time anything"
            )

    def expect(self, values: Values) -> Expectation:
        """What a program should give on values; they are placed here."""
        working = self.run(values, everything=True)
        return self.expect_after(values, working)

    def expect_after(self, values: Values, working: Run) -> Expectation:
        """The expectation, given the reference's own run on the same values."""
        double = self.run(values, mode=Mode.DOUBLE, placed=True) if self.has_double else None
        return expectation(values, working, double, self.key.precision)


_DOUBLE_OF = {
    "float32": "float64",
    "float16": "float64",
    "bfloat16": "float64",
    "complex64": "complex128",
}


def _same_specs(a: Sequence[Tensor], b: Sequence[Tensor]) -> bool:
    return [TensorSpec.of(t) for t in a] == [TensorSpec.of(t) for t in b]


def _alike(a: Tensor, b: Tensor) -> bool:
    """Equal up to the order of sums, which some GPU kernels do not fix."""
    if not a.is_floating_point():
        return bool((a == b).all())
    return bool(torch.allclose(a.double(), b.double(), rtol=1e-3, atol=1e-5, equal_nan=True))
