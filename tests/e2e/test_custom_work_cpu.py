"""Whose work it is, on the CPU device: each way to have none of one's own, and the honest ways.

All candidates share one built module, so that the suite compiles once.
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

PROBLEM = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(128, 128)

    def forward(self, x):
        return torch.tanh(self.linear(x))

def get_inputs():
    return [torch.randn(256, 128)]

def get_init_inputs():
    return []
"""

CPP = """
#include <torch/extension.h>
#include <cmath>

at::Tensor own_tanh(at::Tensor x) {
  auto y = at::empty_like(x);
  const float* from = x.data_ptr<float>();
  float* to = y.data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) to[i] = std::tanh(from[i]);
  return y;
}

void own_tanh_in_place(at::Tensor x) {
  float* p = x.data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) p[i] = std::tanh(p[i]);
}

at::Tensor own_all(at::Tensor x, at::Tensor w, at::Tensor b) {
  const int64_t n = x.size(0), k = x.size(1), m = w.size(0);
  auto y = at::empty({n, m}, x.options());
  const float *px = x.data_ptr<float>(), *pw = w.data_ptr<float>(), *pb = b.data_ptr<float>();
  float* py = y.data_ptr<float>();
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) {
      float s = pb[j];
      for (int64_t l = 0; l < k; ++l) s += px[i * k + l] * pw[j * k + l];
      py[i * m + j] = std::tanh(s);
    }
  return y;
}

at::Tensor touch(at::Tensor x) {
  x.data_ptr<float>()[0] += 0.0f;
  return x;
}

void burn(at::Tensor x) {
  float* p = x.data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) p[i] = std::tanh(p[i]) + std::exp(p[i]);
}

at::Tensor never(at::Tensor x, at::Tensor w, at::Tensor b, int64_t n) {
  if (n == -1) return own_all(x, w, b);
  return at::tanh(at::addmm(b, x, w.t()));
}

at::Tensor broken(at::Tensor x) { TORCH_CHECK(false, "no"); return x; }
"""

FUNCTIONS = ["own_tanh", "own_tanh_in_place", "own_all", "touch", "burn", "never", "broken"]

Custom = Callable[..., Judgement]


def candidate(forward: str, before: str = "") -> str:
    """A program around the module, which it calls `ext`."""
    return f"""
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline
ext = load_inline(name="ext", cpp_sources={CPP!r}, functions={FUNCTIONS!r})
{before}

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(128, 128)
        self.decoy = torch.ones(65536)

    def forward(self, x):
        w, b = self.linear.weight, self.linear.bias
{textwrap.indent(textwrap.dedent(forward).strip(), " " * 8)}
"""


def submission(source: str, **policy: object) -> Submission:
    return Submission.model_validate(
        {"problem": {"source": PROBLEM}, "candidate": {"source": source}, "policy": policy}
    )


@pytest.fixture(scope="module")
def built(settings: Settings) -> Built:
    with BuildStage(settings, prepare=False) as stage:
        context = Context(id="build", deadline=time.time() + 600)
        made = stage(submission(candidate("return ext.own_all(x, w, b)")), PROBLEM, context)
    assert isinstance(made, Built), made
    return made


@pytest.fixture
def judge(supervisor: Supervisor, built: Built) -> Custom:
    def judge(forward: str, before: str = "", **policy: object) -> Judgement:
        wanted = submission(candidate(forward, before), **policy)
        return supervisor.judge(wanted, PROBLEM, built, Context("test", time.time() + 600))

    return judge


def custom_kernel(judgement: Judgement) -> Check:
    return next(check for check in judgement.checks if check.name == "custom_kernel")


HONEST = {
    "all of the work": ("return ext.own_all(x, w, b)", 0.9),
    "a library product and an epilogue": ("return ext.own_tanh(self.linear(x))", 0.15),
    "in place": ("y = self.linear(x)\next.own_tanh_in_place(y)\nreturn y", 0.15),
    "a fallback that is not needed": (
        "try: return ext.own_all(x, w, b)\nexcept Exception: return torch.tanh(self.linear(x))",
        0.9,
    ),
    "through a name of its own": ("return own(x, w, b)", 0.9),
}


@pytest.mark.parametrize("name", HONEST)
def test_work_of_its_own_is_seen_and_accepted(judge: Custom, name: str) -> None:
    forward, least = HONEST[name]
    judgement = judge(forward, "own = ext.own_all", timing=name == "all of the work")
    assert judgement.failure is None, judgement.failure
    seen = custom_kernel(judgement)
    assert seen.passed
    assert seen.evidence["share"] >= least, seen
    assert seen.evidence["ghost"] == "changed"


def test_the_library_beside_it_is_named_with_its_share(judge: Custom) -> None:
    seen = custom_kernel(judge("return ext.own_tanh(self.linear(x))", timing=False)).evidence
    assert 0.01 < seen["others"]["aten::linear"] < 0.9
    assert seen["share"] + sum(seen["others"].values()) == pytest.approx(1, abs=0.01)


CHEATS = {
    "E1 a fallback that is always taken": (
        "try: return ext.broken(x)\nexcept Exception: return torch.tanh(self.linear(x))",
        "aten::linear",
    ),
    "E3 never called": ("return torch.tanh(self.linear(x))", "aten::linear"),
    "E4 a touch of one element": ("return torch.tanh(self.linear(ext.touch(x)))", "aten::linear"),
    "E6 a branch that is never taken": ("return ext.never(x, w, b, 0)", "aten::addmm"),
    "E7 the library from C++": ("return ext.never(x, w, b, 1)", "aten::addmm"),
    "NumPy": (
        "y = x.numpy() @ w.detach().numpy().T + b.detach().numpy()\n"
        "return torch.from_numpy(np.tanh(y))",
        "neither module nor library",
    ),
}


@pytest.mark.parametrize("name", CHEATS)
def test_without_work_of_its_own_it_is_refused(judge: Custom, name: str) -> None:
    forward, named = CHEATS[name]
    judgement = judge(forward, "import numpy as np", timing=False)
    assert judgement.failure is not None
    assert judgement.failure.reason is Reason.NO_CUSTOM_KERNEL, judgement.failure
    assert named in judgement.failure.message
    seen = custom_kernel(judgement)
    assert not seen.passed
    assert seen.evidence["share"] < 0.1


def test_big_work_beside_the_answer_does_not_count(judge: Custom) -> None:
    judgement = judge("ext.burn(self.decoy)\nreturn torch.tanh(self.linear(x))", timing=False)
    assert judgement.failure.reason is Reason.NO_CUSTOM_KERNEL, judgement.failure
    seen = custom_kernel(judgement).evidence
    assert seen["share"] > 0.1
    assert seen["ghost"] == "unchanged"


WATCHED_ONLY = """
import sys
def watched():
    return "reward_service.runner.watch_cpu" in sys.modules
def slow(x, w, b):
    for _ in range(3): y = ext.own_all(x, w, b)
    return y
"""


def test_its_own_kernels_only_where_it_is_watched_gain_it_nothing(judge: Custom) -> None:
    forward = "if watched(): return slow(x, w, b)\nreturn torch.tanh(self.linear(x))"
    judgement = judge(forward, WATCHED_ONLY)
    assert judgement.failure.reason is Reason.NO_CUSTOM_KERNEL
    assert "when it is watched" in judgement.failure.message


def test_forbid_accepts_no_library_work(judge: Custom) -> None:
    mixture = judge("return ext.own_tanh(self.linear(x))", library="forbid", timing=False)
    assert mixture.failure.reason is Reason.NO_CUSTOM_KERNEL
    assert "aten::linear" in mixture.failure.message
    own = judge("return ext.own_all(x.clone(), w, b)", library="forbid", timing=False)
    assert own.failure is None, own.failure


def test_allow_reports_the_share_and_refuses_nothing(judge: Custom) -> None:
    judgement = judge("return torch.tanh(self.linear(x))", library="allow", timing=False)
    assert judgement.failure is None
    assert custom_kernel(judgement).evidence["share"] == 0


def test_the_policy_sets_the_share_that_is_asked_for(judge: Custom) -> None:
    mixture = "return ext.own_tanh(self.linear(x))"
    assert judge(mixture, min_custom_share=0.05, timing=False).failure is None
    refused = judge(mixture, min_custom_share=0.95, timing=False)
    assert refused.failure.reason is Reason.NO_CUSTOM_KERNEL
