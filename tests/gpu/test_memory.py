"""Memory around and under calls on a GPU."""

from __future__ import annotations

import ctypes
import time

import pytest
import torch

from reward_service.runner.cuda import Cuda
from reward_service.schemas import Reason
from tests.gpu.conftest import EXAMPLES, problem_of
from tests.gpu.test_cuda_device import MATMUL, PROGRAM, candidate

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(900)]

RELU = PROGRAM.format(expression="torch.relu(x)", shape="64, 1000")


def kernel_of(source: str, forward: str) -> str:
    """A candidate with a kernel that NVRTC compiles, in no build of ours."""
    body = "\n".join(f"        {line}" for line in forward.strip().splitlines())
    return (
        "import ctypes\nimport torch\n\n"
        f"kernel = torch.cuda._compile_kernel('''{source}''', 'f')\n\n"
        "class ModelNew(torch.nn.Module):\n    kept = None\n    def forward(self, x):\n" + body
    )


COPY = """
extern "C" __global__ void f(float* from, float* to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = (from[i] > 0 ? from[i] : 0);
}"""
SHARED = """
extern "C" __global__ void f(float* from, float* to, int n) {
    extern __shared__ float left[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = (from[i] > 0 ? from[i] : 0) + SUMMAND;
}"""
LAUNCH = "kernel(grid=(250, 1, 1), block=(256, 1, 1), args=[x, y, 64000])"

HONEST = {
    "a kernel": (COPY, f"y = torch.empty_like(x)\n{LAUNCH}\nreturn y"),
    "shared memory that it writes first": (
        SHARED.replace("int i", "left[threadIdx.x] = 0;\n    int i").replace(
            "SUMMAND", "left[threadIdx.x]"
        ),
        "y = torch.empty_like(x)\n"
        + LAUNCH.replace("args", "shared_mem=1024, args")
        + "\nreturn y",
    ),
    "a stream of its own, joined": (
        COPY,
        "s = torch.cuda.Stream()\n"
        "s.wait_stream(torch.cuda.current_stream())\n"
        "with torch.cuda.stream(s):\n"
        "    y = torch.empty_like(x)\n"
        f"    {LAUNCH[:-1]}, stream=s)\n"
        "torch.cuda.current_stream().wait_stream(s)\n"
        "return y",
    ),
    "a graph built in the call": (
        COPY,
        "y = torch.empty_like(x)\n"
        "g = torch.cuda.CUDAGraph()\n"
        "with torch.cuda.graph(g):\n"
        "    y.copy_(torch.relu(x))\n"
        "g.replay()\n"
        "return y",
    ),
}

CHEATS = {
    "writes behind an input": (
        COPY.replace("if (i < n)", "if (i < 8) from[n + i] = 0;\n    if (i < n)"),
        f"y = torch.empty_like(x)\n{LAUNCH}\nreturn y",
        {Reason.OUT_OF_BOUNDS},
    ),
    "reads behind an input": (
        COPY.replace("to[i] =", "to[i] = 0 * from[n] +"),
        f"y = torch.empty_like(x)\n{LAUNCH}\nreturn y",
        {Reason.NONFINITE, Reason.MISMATCH},
    ),
    "launches nothing": (
        COPY,
        "y = torch.empty_like(x)\n"
        "try:\n"
        "    kernel(grid=(250, 1, 1), block=(2048, 1, 1), args=[x, y, 64000])\n"
        "except RuntimeError: pass\n"
        "return y",
        {Reason.NONFINITE, Reason.MISMATCH},
    ),
    "reads shared memory that nobody wrote": (
        SHARED.replace("SUMMAND", "left[threadIdx.x]"),
        "y = torch.empty_like(x)\n"
        + LAUNCH.replace("args", "shared_mem=1024, args")
        + "\nreturn y",
        {Reason.NONFINITE, Reason.MISMATCH},
    ),
    "adds to memory that happens to be zero": (
        COPY.replace("to[i] =", "to[i] +="),
        f"y = torch.empty_like(x)\n{LAUNCH}\nreturn y",
        {Reason.NONFINITE, Reason.MISMATCH},
    ),
    "one buffer for all outputs": (
        COPY,
        f"if self.kept is None: self.kept = torch.empty_like(x)\ny = self.kept\n{LAUNCH}\nreturn y",
        {Reason.STALE},
    ),
    "returns its input": (COPY, f"y = x\n{LAUNCH}\nreturn y", {Reason.ALIAS, Reason.INPUT_MUTATED}),
    "an error that it passes over": (
        COPY,
        f"y = torch.empty_like(x)\n{LAUNCH}\n"
        "ctypes.CDLL('libcudart.so.' + torch.version.cuda.split('.')[0]).cudaSetDevice(99)\n"
        "return y",
        {Reason.CUDA_FAULT},
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_kernel_is_correct(judge_gpu, name):
    judgement = judge_gpu(RELU, kernel_of(*HONEST[name]))
    assert judgement.failure is None, judgement.failure


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_refused_for_its_own_reason(judge_gpu, name):
    source, forward, reasons = CHEATS[name]
    failure = judge_gpu(RELU, kernel_of(source, forward)).failure
    assert failure is not None
    assert failure.reason in reasons, failure


def test_the_floor_of_a_large_product_is_below_what_it_takes(judge_gpu):
    problem = MATMUL.replace("1024, 1024", "4096, 4096")
    judgement = judge_gpu(problem, candidate("return x @ x"))
    assert judgement.failure is None, judgement.failure
    evidence = next(c.evidence for c in judgement.checks if c.name == "physics")
    assert 0 < evidence["arithmetic_s"] < evidence["median_s"]


def test_a_large_input_counts_in_the_floor(judge_gpu):
    problem = PROGRAM.format(expression="x.sum(1)", shape="1 << 14, 1 << 14")
    judgement = judge_gpu(problem, candidate("return x.sum(1)"))
    assert judgement.failure is None, judgement.failure
    evidence = next(c.evidence for c in judgement.checks if c.name == "physics")
    assert 0.2 * evidence["median_s"] < evidence["traffic_s"] < evidence["median_s"]


@pytest.fixture
def cuda():
    torch.zeros(1, device="cuda")
    return Cuda()


def test_free_memory_is_poisoned_and_memory_in_use_is_not(cuda):
    kept = torch.zeros(1 << 20, device="cuda")
    for size in (7, 1 << 10, 1 << 18, 1 << 22):
        torch.zeros(size, device="cuda")
    torch.cuda.synchronize()
    cuda.poison_free_memory()
    torch.cuda.synchronize()
    assert (kept == 0).all()
    for size in (7, 1 << 10, 1 << 18, 1 << 22):
        assert torch.empty(size, device="cuda").isnan().all()


def test_no_error_is_left_and_one_that_is_made_is_named(cuda):
    assert cuda.last_error() is None
    cuda._runtime.cudaSetDevice(99)
    assert cuda.last_error() == "cudaErrorInvalidDevice"
    assert cuda.last_error() is None


def test_nothing_of_the_l2_cache_stays_set_aside(cuda):
    limit = ctypes.c_size_t()
    cuda._driver.cuCtxSetLimit(6, 1 << 20)
    cuda.drop_persisting_lines()
    cuda._driver.cuCtxGetLimit(ctypes.byref(limit), 6)
    assert limit.value == 0


def test_shared_memory_holds_poison_afterwards(cuda):
    read = torch.cuda._compile_kernel(
        """extern "C" __global__ void f(float* out, int n) {
            extern __shared__ float left[];
            for (int i = threadIdx.x; i < n; i += blockDim.x)
                out[blockIdx.x * n + i] = left[i];
        }""",
        "f",
    )
    out = torch.zeros(64, 1024, device="cuda")
    cuda.scribble()
    read(grid=(64, 1, 1), block=(256, 1, 1), shared_mem=4096, args=[out, 1024])
    assert out.isnan().all()


def test_starting_costs_little():
    torch.zeros(1, device="cuda")
    start = time.perf_counter()
    Cuda()
    assert time.perf_counter() - start < 0.1


def test_what_preparing_a_call_costs(cuda):
    def seconds(work) -> float:
        taken = []
        for _ in range(50):
            torch.cuda.synchronize()
            start = time.perf_counter()
            work()
            torch.cuda.synchronize()
            taken.append(time.perf_counter() - start)
        return sorted(taken)[25]

    for size in (7, 1 << 10, 1 << 18, 1 << 22):
        torch.zeros(size, device="cuda")
    costs = {
        "scribble": seconds(cuda.scribble),
        "free memory": seconds(cuda.poison_free_memory),
        "persisting lines": seconds(cuda.drop_persisting_lines),
    }
    print(costs)
    assert max(costs.values()) < 2e-3


def test_the_examples_share_nothing_and_write_nowhere_else(evaluate):
    file = EXAMPLES / "level1" / "relu" / "cuda.py"
    checks = {check.name: check for check in evaluate(problem_of(file), file).checks}
    assert checks["bounds"].passed
    assert checks["aliasing"].passed
