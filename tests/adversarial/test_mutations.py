"""Mutations of an otherwise right result: each must be refused, 100 times of 100.

The hundreds run inside this process on the judge's own functions, `verify_outputs` over random
outputs and `Program.run` over a runner that is played; no candidate runs in them. What follows
them is end to end: a candidate in its sandbox, mutated by its own doing, before the whole judge.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from reward_service.judge.compare import element_scale, unravel
from reward_service.judge.device import JudgeDevice
from reward_service.judge.memory import Layout
from reward_service.judge.program import CallShape, Program, Run, Values
from reward_service.judge.runner_client import Call, CandidateError, RunnerClient
from reward_service.judge.specs import TensorSpec
from reward_service.judge.verify import Expectation, WorstSeen, expectation, verify_outputs
from reward_service.runner.page import Mode, SharedMemory
from reward_service.runner.values import digest
from reward_service.schemas import Reason

DTYPES = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.complex64,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.bool,
]
WIDE = {torch.complex64: torch.complex128}
TILE = 32


def ran(outputs: list[Tensor]) -> Run:
    return Run(Call(0.0, 0.0, 0.0, 0, 0, 0.0), outputs, [], [])


def exact(shape: list[int], dtype: torch.dtype, scale: float, g: torch.Generator) -> Tensor:
    """What an output should be, in float64 where it is floating; nowhere 0 in the last tile."""
    if dtype == torch.bool:
        y = torch.randint(2, shape, generator=g).bool()
        y.view(-1)[-TILE:] = True
        return y
    if not (dtype.is_floating_point or dtype.is_complex):
        return torch.randint(1, 100, shape, generator=g).to(dtype)
    return scale * torch.randn(shape, generator=g, dtype=WIDE.get(dtype, torch.float64))


def case(seed: int) -> tuple[Expectation, list[Tensor], random.Random]:
    """Two outputs of one shape, as they should be and as a right candidate gives them."""
    rng, g = random.Random(seed), torch.Generator().manual_seed(seed)
    dtype = rng.choice(DTYPES)
    shape = [rng.randint(1, 5) for _ in range(rng.randint(0, 2))] + [rng.randint(TILE, 200)]
    scale = 10.0 ** rng.uniform(-2, 2)
    wanted = [exact(shape, dtype, scale, g) for _ in range(2)]
    right = [y.to(dtype) for y in wanted]
    expected = expectation(Values([], [], 0, 0), ran(right), ran(wanted), "fp32")
    assert expected.sound
    return expected, [y.clone() for y in right], rng


def one_element(expected: Expectation, outputs: list[Tensor], rng: random.Random) -> None:
    which = rng.randrange(2)
    y, limit = outputs[which], expected.limits[which]
    place = rng.randrange(y.numel())
    if limit is None:
        index = unravel(place, y.shape)
        y[index] = ~y[index] if y.dtype == torch.bool else y[index] ^ 1
        return
    parts = [torch.view_as_real(t) if t.is_complex() else t for t in (y, expected.exact[which])]
    index = unravel(place, parts[0].shape)
    scale = element_scale(parts[1], index, parts[0].dtype)
    parts[0][index] = parts[1][index] + rng.choice([-2, 2]) * limit.worst * scale


def last_tile(expected: Expectation, outputs: list[Tensor], rng: random.Random) -> None:
    outputs[rng.randrange(2)].view(-1)[-TILE:] = 0


def swapped(expected: Expectation, outputs: list[Tensor], rng: random.Random) -> None:
    outputs.reverse()


Mutation = Callable[[Expectation, list[Tensor], random.Random], None]
MUTATIONS: dict[str, Mutation] = {
    "one element off by twice its bound": one_element,
    "the last tile dropped": last_tile,
    "two outputs swapped": swapped,
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_the_comparer_refuses_a_mutated_output_100_of_100(name: str) -> None:
    for seed in range(100):
        expected, outputs, rng = case(seed)
        assert verify_outputs(ran(outputs), expected, WorstSeen()) is None
        MUTATIONS[name](expected, outputs, rng)
        finding = verify_outputs(ran(outputs), expected, WorstSeen())
        assert finding is not None, seed
        assert finding.reason is Reason.MISMATCH, (seed, finding)


class PlayedRunner:
    """A runner that says that it is done, and may then write once more."""

    def __init__(self, outputs: list[Tensor], late: Callable[[Tensor], None]) -> None:
        self.outputs = outputs
        self.late = late

    def request(self, op: str, limit_s: float, memory: SharedMemory, **_: Any) -> None:
        self.memory = memory

    def call(self, *_: Any, **__: Any) -> Call:
        claimed = int(digest(self.outputs))
        self.late(self.outputs[0])
        Layout.of(TensorSpec.of(y) for y in self.outputs).write(self.memory, self.outputs)
        return Call(1e-3, 1e-3, 1e-3, claimed, 0, 1e-3)

    def failure(self, reason: Reason, message: str) -> CandidateError:
        return CandidateError(reason, message)


def run_played(outputs: list[Tensor], late: Callable[[Tensor], None]) -> Run:
    client = PlayedRunner(outputs, late)
    program = Program(cast(RunnerClient, client), JudgeDevice("cpu"))
    nothing = Layout.of([])
    layout = Layout.of(TensorSpec.of(y) for y in outputs)
    shape = CallShape({}, nothing, {}, {Mode.WORKING: layout}, nothing, nothing)
    program.expect(shape)
    return program.run(Values([], [], 0, 0), 1.0)


def test_a_write_after_the_runner_was_done_is_refused_100_of_100() -> None:
    for seed in range(100):
        _, outputs, rng = case(seed)
        assert torch.equal(run_played(outputs, lambda y: None).outputs[0], outputs[0])

        def late(y: Tensor, rng: random.Random = rng) -> None:
            data = y.view(-1).view(torch.uint8)
            data[rng.randrange(data.numel())] ^= 1

        with pytest.raises(CandidateError) as caught:
            run_played(outputs, late)
        assert caught.value.reason is Reason.STALE, seed


# --- end to end ----------------------------------------------------------------------------------

PROBLEM = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(128, 128)

    def forward(self, x):
        y = self.linear(x)
        return torch.tanh(y), torch.sigmoid(y)

def get_inputs():
    return [torch.randn(64, 128)]

def get_init_inputs():
    return []
"""

CANDIDATE = """
import random, threading, time
import torch
from torch import nn

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(128, 128)

    def forward(self, x):
        y = self.linear(x)
        a, b = torch.tanh(y), torch.sigmoid(y)
"""

# The scale of an element as judge/compare.py has it, and 5e-5, the bound of fp32 on it.
OFF = """
        row, column = random.randrange(64), random.randrange(128)
        rms = a[row].square().mean().sqrt() + 0.05 * a.square().mean().sqrt()
        a[row, column] += {factor} * 5e-5 * (a[row, column].abs() + rms)
        return a, b
"""
END_TO_END = {
    "one element": (OFF.format(factor=2.0), {Reason.MISMATCH}),
    "the last tile": ("        b[-1, 64:] = 0\n        return a, b\n", {Reason.MISMATCH}),
    "swapped": ("        return b, a\n", {Reason.MISMATCH}),
    "a late write": (
        """
        def write():
            for _ in range(500):
                a[0, 0] += 1
                time.sleep(1e-4)
        threading.Thread(target=write).start()
        return a, b
""",
        {Reason.MISMATCH, Reason.STALE},
    ),
}


@pytest.mark.parametrize("name", END_TO_END)
def test_a_candidate_that_mutates_its_result_is_refused(judge, name):
    mutation, reasons = END_TO_END[name]
    judgement = judge(PROBLEM, CANDIDATE + mutation, stop_after="correctness")
    assert judgement.failure is not None
    assert judgement.failure.reason in reasons, judgement.failure


@pytest.mark.parametrize("mutation", ["        return a, b\n", OFF.format(factor=0.5)])
def test_the_same_candidate_within_the_bounds_is_correct(judge, mutation):
    judgement = judge(PROBLEM, CANDIDATE + mutation, stop_after="correctness")
    assert judgement.failure is None, judgement.failure
