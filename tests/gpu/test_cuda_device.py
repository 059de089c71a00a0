"""The whole path on a GPU: real builds, real kernels, the real judge."""

from __future__ import annotations

import pytest

from reward_service.findings import Finding
from reward_service.schemas import Reason
from tests.gpu.conftest import EXAMPLES, problem_of

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(900)]

HONEST = sorted(EXAMPLES.glob("level*/*/cuda.py"))


@pytest.mark.parametrize("file", HONEST, ids=problem_of)
def test_an_honest_kernel_is_correct(evaluate, file):
    judgement = evaluate(problem_of(file), file)
    assert not isinstance(judgement, Finding), judgement
    assert judgement.failure is None, judgement.failure
    assert judgement.speedup is not None


DEMO = {
    "fast": None,
    "slow": None,
    "wrong": Reason.MISMATCH,
    "broken": Reason.BUILD_FAILED,
    "crash": Reason.CUDA_FAULT,
    "hang": Reason.RUN_TIMEOUT,
    "cached": Reason.MISMATCH,
}


@pytest.mark.parametrize("kind", DEMO)
def test_every_kind_of_kernel_gets_its_reason(evaluate, kind):
    file = EXAMPLES / "demo" / f"{kind}_cuda.py"
    result = evaluate("level2/hardswish_chain", file)
    failure = result if isinstance(result, Finding) else result.failure
    assert (failure.reason if failure else None) is DEMO[kind], failure


def test_after_a_hang_and_a_fault_an_honest_kernel_is_judged_as_before(evaluate):
    fast = EXAMPLES / "demo" / "fast_cuda.py"
    for kind in ("hang", "crash"):
        evaluate("level2/hardswish_chain", EXAMPLES / "demo" / f"{kind}_cuda.py")
        assert evaluate("level2/hardswish_chain", fast).failure is None


PROGRAM = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return {expression}

def get_inputs():
    return [torch.randn({shape})]

def get_init_inputs():
    return []
"""

DURATIONS = {
    "relu 4 Mi": ("torch.relu(x)", "1 << 22"),
    "matmul 1024": ("x @ x", "1024, 1024"),
    "matmul 2048": ("x @ x", "2048, 2048"),
}


@pytest.mark.parametrize("name", DURATIONS)
def test_a_program_is_as_fast_as_itself(judge_gpu, name):
    expression, shape = DURATIONS[name]
    problem = PROGRAM.format(expression=expression, shape=shape)
    judgement = judge_gpu(problem, problem.replace("class Model(", "class ModelNew("))
    assert judgement.failure is None, judgement.failure
    speedup = judgement.speedup
    assert speedup.low <= 1.0 <= speedup.high
    if judgement.reference_time_s.median >= 50e-6:
        assert abs(speedup.value - 1) <= 0.01


def candidate(forward: str) -> str:
    """A candidate for the product of a matrix with itself."""
    body = "\n".join(f"        {line}" for line in forward.strip().splitlines())
    return f"import torch\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n{body}\n"


MATMUL = PROGRAM.format(expression="x @ x", shape="1024, 1024")

CHEATS = {
    "tf32": ("torch.backends.cuda.matmul.allow_tf32 = True\nreturn x @ x", {Reason.PRECISION}),
    "bf16": ("b = x.bfloat16()\nreturn (b @ b).float()", {Reason.PRECISION}),
    "fp16": ("h = x.half()\nreturn (h @ h).float()", {Reason.PRECISION}),
    "on the host": ("return x.cpu() @ x.cpu()", {Reason.SCHEMA}),
    "takes all memory": (
        "keep = []\nwhile True: keep.append(torch.empty(1 << 34, device='cuda'))",
        {Reason.OUT_OF_MEMORY},
    ),
    "on a side stream, never joined": (
        "s = torch.cuda.Stream()\n"
        "s.wait_stream(torch.cuda.current_stream())\n"
        "with torch.cuda.stream(s): y = x @ x\n"
        "return y",
        {Reason.CLOCK_DISAGREE, Reason.MISMATCH, Reason.STALE},
    ),
    "uninitialised memory": ("return torch.empty_like(x)", {Reason.MISMATCH, Reason.NONFINITE}),
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_refused(judge_gpu, name):
    forward, reasons = CHEATS[name]
    judgement = judge_gpu(MATMUL, candidate(forward))
    assert judgement.failure is not None
    assert judgement.failure.reason in reasons, judgement.failure


@pytest.mark.parametrize("draw", range(6))
def test_tf32_is_recognised_whatever_values_show_it(judge_gpu, draw):
    """On sums of positive values rounding averages away, and the cut of the tensor cores stays."""
    forward, reasons = CHEATS["tf32"]
    judgement = judge_gpu(MATMUL, candidate(forward))
    assert judgement.failure is not None, draw
    assert judgement.failure.reason in reasons, judgement.failure


def test_the_flags_of_a_candidate_do_not_reach_the_baseline(judge_gpu):
    honest = candidate("return x @ x")
    before = judge_gpu(MATMUL, honest).reference_time_s.median
    judge_gpu(MATMUL, candidate(CHEATS["tf32"][0]))
    after = judge_gpu(MATMUL, honest).reference_time_s.median
    assert abs(after / before - 1) < 0.05


def test_under_the_tf32_policy_tf32_is_honest(judge_gpu):
    judgement = judge_gpu(MATMUL, candidate("return x @ x"), precision="tf32")
    assert judgement.failure is None, judgement.failure
