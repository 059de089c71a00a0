"""What candidates do to memory, on the CPU device: each cheat is refused for its own reason, and
the honest program that looks most like it is correct."""

import pytest

from reward_service.schemas import Reason
from tests.e2e.test_judge_cpu import HONEST, PROBLEM, with_forward

CHEATS = {
    "writes behind an input": (
        "y = self.right(x)\nctypes.memset(x.data_ptr() + 4 * x.numel(), 0, 1)\nreturn y",
        {Reason.OUT_OF_BOUNDS},
    ),
    "writes before an input": (
        "y = self.right(x)\nctypes.memset(x.data_ptr() - 4, 0, 4)\nreturn y",
        {Reason.OUT_OF_BOUNDS},
    ),
    "reads behind an input": (
        "y = self.right(x)\n"
        "return y + 0 * ctypes.c_float.from_address(x.data_ptr() + 4 * x.numel()).value",
        {Reason.NONFINITE},
    ),
    "reads before an input": (
        "y = self.right(x)\nreturn y + 0 * ctypes.c_float.from_address(x.data_ptr() - 4).value",
        {Reason.NONFINITE},
    ),
    "relies on memory that happens to be zero": (
        "return torch.empty_like(x).add_(self.right(x))",
        {Reason.NONFINITE, Reason.MISMATCH},
    ),
    "leaves its output unwritten": (
        "return torch.empty_like(x)",
        {Reason.NONFINITE, Reason.MISMATCH},
    ),
    "one buffer for all outputs": (
        "if self.kept is None: self.kept = torch.empty_like(x)\n"
        "return self.kept.copy_(self.right(x))",
        {Reason.STALE},
    ),
    "returns its input": ("return x.copy_(self.right(x))", {Reason.ALIAS}),
    "returns a part of its state": (
        "self.linear.weight.data[:64] = self.right(x)\nreturn self.linear.weight.data[:64]",
        {Reason.ALIAS, Reason.MISMATCH},
    ),
    "keeps results by address": (
        "key = x.data_ptr()\n"
        "if self.kept is None: self.kept = {}\n"
        "return self.kept.setdefault(key, self.right(x)).clone()",
        {Reason.MISMATCH},
    ),
    "keeps results by identity and version": (
        "key = id(x), x._version\n"
        "if self.kept is None: self.kept = {}\n"
        "return self.kept.setdefault(key, self.right(x)).clone()",
        {Reason.MISMATCH},
    ),
    "keeps results on the input itself": (
        "if not hasattr(x, 'answer'): x.answer = self.right(x)\nreturn x.answer.clone()",
        {Reason.MISMATCH},
    ),
    "leaves a mode behind": (
        "from torch.overrides import BaseTorchFunctionMode\n"
        "BaseTorchFunctionMode().__enter__()\n"
        "return self.right(x)",
        {Reason.SCHEMA},
    ),
    "has no memory": ("return torch._efficientzerotensor(x.shape)", {Reason.SCHEMA}),
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_refused_for_its_own_reason(judge, name):
    body, reasons = CHEATS[name]
    failure = judge(PROBLEM, with_forward(body)).failure
    assert failure is not None
    assert failure.reason in reasons, failure


TWINS = {
    "reads the ends of an input": (
        "y = self.right(x)\n"
        "return y + 0 * ctypes.c_float.from_address(x.data_ptr() + 4 * x.numel() - 4).value"
    ),
    "adds to memory that it cleared": "return torch.empty_like(x).zero_().add_(self.right(x))",
    "writes all of its output": "return torch.empty_like(x).copy_(self.right(x))",
    "keeps a scratch buffer": (
        "if self.kept is None: self.kept = torch.empty_like(x)\n"
        "return self.kept.copy_(self.right(x)).clone()"
    ),
    "keeps a transposed weight": (
        "w = self.linear.weight\n"
        "if self.kept is None: self.kept = w.t().contiguous()\n"
        "return torch.tanh(torch.addmm(self.linear.bias, x, self.kept))"
    ),
    "returns a transposed view of its own": (
        "return self.right(x).t().contiguous().t().contiguous().view(64, 128)"
    ),
    "returns a part of a larger buffer": (
        "return torch.cat([self.right(x), torch.zeros(3, 128)])[:64]"
    ),
    "sets a default device": "torch.set_default_device('cpu')\nreturn self.right(x)",
    "starts and joins a thread": (
        "t = threading.Thread(target=lambda: setattr(self, 'kept', self.right(x)))\n"
        "t.start()\nt.join()\nreturn self.kept.clone()"
    ),
}


@pytest.mark.parametrize("name", TWINS)
def test_an_honest_twin_is_correct(judge, name):
    failure = judge(PROBLEM, with_forward(TWINS[name]), stop_after="correctness").failure
    assert failure is None


TWO = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return {outputs}

def get_inputs():
    return [torch.randn(64, 128)]

def get_init_inputs():
    return []
"""

COPIES = "(torch.relu(x), torch.relu(x))"
SHARED = "(lambda y: (y, y[:32]))(torch.relu(x))"
VIEWS = "torch.relu(x).chunk(2, 1)"
INPUT = "(x.t(), torch.relu(x))"
LAZY = "torch.complex(x, x).conj()"
EAGER = "torch.complex(x, x).conj_physical()"


def candidate(outputs: str) -> str:
    return TWO.format(outputs=outputs).replace("class Model(", "class ModelNew(")


@pytest.mark.parametrize("outputs", [COPIES, SHARED, VIEWS, INPUT, LAZY, EAGER])
def test_what_the_reference_shares_a_candidate_may_share(judge, outputs):
    problem = TWO.format(outputs=outputs)
    assert judge(problem, candidate(outputs), stop_after="correctness").failure is None


MORE = {
    "one tensor for two": (COPIES, "(lambda y: (y, y))(torch.relu(x))", Reason.ALIAS),
    "an input that is not the reference's": (
        "(torch.relu(x), x + 0)",
        "(torch.relu(x), x)",
        Reason.ALIAS,
    ),
    "work left to the reader": (EAGER, LAZY, Reason.SCHEMA),
}


@pytest.mark.parametrize("name", MORE)
def test_what_the_reference_does_not_share_a_candidate_may_not(judge, name):
    reference, cheat, reason = MORE[name]
    assert judge(TWO.format(outputs=reference), candidate(cheat)).failure.reason is reason


FEWER = {
    "two tensors for one": (SHARED, "(torch.relu(x), torch.relu(x)[:32])"),
    "a copy of an input": (INPUT, "(x.t().clone(), torch.relu(x))"),
    "work done at once": (LAZY, EAGER),
}


@pytest.mark.parametrize("name", FEWER)
def test_a_candidate_need_not_share(judge, name):
    reference, honest = FEWER[name]
    problem = TWO.format(outputs=reference)
    assert judge(problem, candidate(honest), stop_after="correctness").failure is None


def test_an_output_that_is_written_later_is_stale(judge):
    # Right when it is handed over, and changed during one of the next calls.
    body = """
if self.kept is not None: self.kept.add_(1)
self.kept = self.right(x)
return self.kept
"""
    failure = judge(PROBLEM, with_forward(body)).failure
    assert failure.reason is Reason.STALE


def test_the_verdict_tells_what_was_looked_at(judge):
    checks = {check.name: check for check in judge(PROBLEM, HONEST).checks}
    assert checks["bounds"].passed
    assert checks["aliasing"].passed


def test_damage_is_told_as_the_check_that_found_it(judge):
    body, _ = CHEATS["writes behind an input"]
    checks = {c.name: c for c in judge(PROBLEM, with_forward(body)).checks}
    assert not checks["bounds"].passed


def test_threads_that_run_on_between_calls_do_not_slow_the_baseline(judge):
    # They rest while a call of their own runs, and take all cores at other times.
    before = """
idle = threading.Event()
burn = torch.randn(256, 256)

def spin():
    torch.set_num_threads(1)
    while True:
        idle.wait()
        burn @ burn
"""
    body = """
if self.kept is None:
    self.kept = [threading.Thread(target=spin, daemon=True) for _ in range(2)]
    for thread in self.kept: thread.start()
idle.clear()
y = self.right(x)
idle.set()
return y
"""
    many = "linear(x.repeat(12, 12) @ x.repeat(12, 12).T @ x.repeat(12, 1))[:64]"
    problem = PROBLEM.replace("linear(x)", many)
    cheat = with_forward(body, before).replace("linear(x)", many)
    judgement = judge(problem, cheat)
    assert judgement.failure is not None or judgement.speedup.value < 1.15
