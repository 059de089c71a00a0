"""Whose work it is, on a GPU: each way to have no kernel of one's own, and the honest ways.

All candidates share one built module; the stock rung makes it once more.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable

import pytest

from reward_service.build.stage import BuildStage
from reward_service.findings import Built, Context, Judgement
from reward_service.schemas import Check, Reason, Submission
from reward_service.settings import Settings
from reward_service.worker.supervisor import Supervisor

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(900)]

PROBLEM = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(512, 2048)

    def forward(self, x):
        return torch.tanh(self.linear(x))

def get_inputs():
    return [torch.randn(4096, 512)]

def get_init_inputs():
    return []
"""

CUDA = """
#include <torch/extension.h>

template <class T> __global__ void tanh_kernel(const T* x, T* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = tanhf(x[i]);
}

__global__ void all_kernel(const float* x, const float* w, const float* b, float* y, int n, int k,
                           int m) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
  if (j >= m) return;
  float s = b[j];
  for (int l = 0; l < k; ++l) s += x[i * k + l] * w[j * k + l];
  y[i * m + j] = tanhf(s);
}

__global__ void touch_kernel(float* x) { x[0] += 0.0f; }

__global__ void burn_kernel(float* x, int n) {
  float s = 1;
  for (int i = 0; i < n; ++i) s = s * 0.999f + 1.0f;
  x[threadIdx.x] = s;
}

torch::Tensor own_tanh(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  tanh_kernel<float><<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}

torch::Tensor own_all(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
  int n = x.size(0), k = x.size(1), m = w.size(0);
  auto y = torch::empty({n, m}, x.options());
  all_kernel<<<dim3((m + 255) / 256, n), 256>>>(
      x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), n, k, m);
  return y;
}

torch::Tensor touch(torch::Tensor x) {
  touch_kernel<<<1, 1>>>(x.data_ptr<float>());
  return x;
}

torch::Tensor burn(torch::Tensor x) {
  burn_kernel<<<1, 32>>>(x.data_ptr<float>(), 50000);
  return x;
}

torch::Tensor never(torch::Tensor x, torch::Tensor w, torch::Tensor b, int64_t n) {
  if (n == -1) return own_all(x, w, b);
  return x.clone();
}

torch::Tensor broken(torch::Tensor x) {
  TORCH_CHECK(false, "no");
  return x;
}
"""
FUNCTIONS = ["own_tanh", "own_all", "touch", "burn", "never", "broken"]
CPP = """
torch::Tensor own_tanh(torch::Tensor x);
torch::Tensor own_all(torch::Tensor x, torch::Tensor w, torch::Tensor b);
torch::Tensor touch(torch::Tensor x);
torch::Tensor burn(torch::Tensor x);
torch::Tensor never(torch::Tensor x, torch::Tensor w, torch::Tensor b, int64_t n);
torch::Tensor broken(torch::Tensor x);
"""

Custom = Callable[..., Judgement]


def submission(forward: str, before: str = "", **policy: object) -> Submission:
    source = f"""
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline
ext = load_inline(name="ext", cpp_sources={CPP!r}, cuda_sources={CUDA!r}, functions={FUNCTIONS!r})
{before}

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(512, 2048)
        self.decoy = torch.ones(32, device="cuda")
        self.graph = None

    def forward(self, x):
        w, b = self.linear.weight, self.linear.bias
{textwrap.indent(textwrap.dedent(forward).strip(), " " * 8)}
"""
    return Submission.model_validate(
        {"problem": {"source": PROBLEM}, "candidate": {"source": source}, "policy": policy}
    )


@pytest.fixture(scope="module", params=["split", "stock"])
def built(request: pytest.FixtureRequest, settings: Settings) -> Built:
    context = Context(id="build", deadline=time.time() + 600)
    with BuildStage(settings, split=request.param == "split", prepare=False) as stage:
        made = stage(submission("return ext.own_all(x, w, b)"), PROBLEM, context)
    assert isinstance(made, Built), made
    assert made.report.path in (request.param, "cache")
    return made


@pytest.fixture
def judge(gpu: Supervisor, built: Built) -> Custom:
    def judge(forward: str, before: str = "", **policy: object) -> Judgement:
        wanted = submission(forward, before, **policy)
        return gpu.judge(wanted, PROBLEM, built, Context("test", time.time() + 200))

    return judge


def custom_kernel(judgement: Judgement) -> Check:
    return next(check for check in judgement.checks if check.name == "custom_kernel")


HONEST = {
    "all of the work": ("return ext.own_all(x, w, b)", 0.95),
    "a library product and an epilogue": ("return ext.own_tanh(self.linear(x))", 0.05),
    "on a stream of its own": (
        "side = torch.cuda.Stream()\n"
        "side.wait_stream(torch.cuda.current_stream())\n"
        "y = self.linear(x)\n"
        "torch.cuda.synchronize()\n"
        "return ext.own_tanh(y)",
        0.05,
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_work_of_its_own_is_seen_and_accepted(judge: Custom, name: str) -> None:
    forward, least = HONEST[name]
    judgement = judge(forward, min_custom_share=0.03)
    assert judgement.failure is None, judgement.failure
    seen = custom_kernel(judgement).evidence
    assert seen["share"] >= least, seen
    assert seen["ghost"] == "changed", seen


CHEATS = {
    "E1 a fallback that is always taken": (
        "try: return ext.broken(x)\nexcept Exception: return torch.tanh(self.linear(x))"
    ),
    "E3 never called": "return torch.tanh(self.linear(x))",
    "E4 a touch of one element": "return torch.tanh(self.linear(ext.touch(x)))",
    "E6 a branch that is never taken": "return torch.tanh(self.linear(ext.never(x, w, b, 0)))",
    "E10 a compiled function": "return compiled(ext.touch(x), w, b)",
}


@pytest.mark.parametrize("name", CHEATS)
def test_without_work_of_its_own_it_is_refused(judge: Custom, name: str) -> None:
    before = "compiled = torch.compile(lambda x, w, b: torch.tanh(x @ w.T + b))"
    judgement = judge(CHEATS[name], before)
    assert judgement.failure is not None
    assert judgement.failure.reason is Reason.NO_CUSTOM_KERNEL, judgement.failure
    seen = custom_kernel(judgement).evidence
    assert seen["share"] < 0.1
    assert sum(seen["others"].values()) > 0.5, "the library's kernels are named"


def test_big_work_beside_the_answer_does_not_count(judge: Custom) -> None:
    judgement = judge("ext.burn(self.decoy)\nreturn torch.tanh(self.linear(x))")
    assert judgement.failure is not None
    assert judgement.failure.reason is Reason.NO_CUSTOM_KERNEL, judgement.failure
    seen = custom_kernel(judgement).evidence
    assert seen["share"] > 0.1, seen
    assert seen["ghost"] == "unchanged", seen


def test_its_own_kernels_only_where_it_is_watched_gain_it_nothing(judge: Custom) -> None:
    before = """
import sys
def watched():
    return "reward_service.runner.watch_cuda" in sys.modules
"""
    forward = "return ext.own_all(x, w, b) if watched() else torch.tanh(self.linear(x))"
    judgement = judge(forward, before)
    assert judgement.failure is not None
    assert judgement.failure.reason is Reason.NO_CUSTOM_KERNEL, judgement.failure
    assert "when it is watched" in judgement.failure.message


def test_forbid_accepts_no_library_kernel(judge: Custom) -> None:
    mixture = judge("return ext.own_tanh(self.linear(x))", library="forbid", timing=False)
    assert mixture.failure is not None
    assert mixture.failure.reason is Reason.NO_CUSTOM_KERNEL
    own = judge("return ext.own_all(x.clone(), w, b)", library="forbid", timing=False)
    assert own.failure is None, own.failure


def test_it_costs_well_below_half_a_second(judge: Custom) -> None:
    judgement = judge("return ext.own_all(x, w, b)")
    assert judgement.stages["custom_kernel"] < 0.5, judgement.stages
