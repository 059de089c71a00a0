"""The judge on the CPU device: one property a test, each with a real runner in its sandbox.

The candidates need no build (policy `library: allow`), so that a test takes about a second.
"""

import time

import pytest

from reward_service.errors import (
    ArtifactLostError,
    BadProblemError,
    CancelledError,
    DeviceError,
    QueueDeadlineError,
)
from reward_service.findings import Built, Context
from reward_service.schemas import BuildReport, Reason, Submission
from tests.runners import files_of_references

PROBLEM = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return torch.tanh(self.linear(x))

def get_inputs():
    return [torch.randn(64, 128)]

def get_init_inputs():
    return [128]
"""

HONEST = PROBLEM.replace("class Model(", "class ModelNew(")


POINTWISE = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return torch.tanh(torch.relu(x * 2 + 1) * 3 - x.abs()) * x

def get_inputs():
    return [torch.randn(512, 4096)]

def get_init_inputs():
    return []
"""

POINTWISE_HONEST = POINTWISE.replace("class Model(", "class ModelNew(")


def with_forward(body: str, before: str = "") -> str:
    """An otherwise honest candidate with another forward()."""
    lines = "\n".join(f"        {line}" for line in body.strip().splitlines())
    return f"""
import ctypes, gc, os, socket, sys, threading, time
import torch
from torch import nn
{before}

class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.calls = 0
        self.kept = None

    def right(self, x):
        return torch.tanh(self.linear(x))

    def forward(self, x):
        self.calls += 1
{lines}
"""


def test_a_program_is_as_fast_as_itself(judge):
    # A 95 % interval may miss once; five of five would make this test fail for nothing.
    speedups = [judge(PROBLEM, HONEST).speedup for _ in range(5)]
    assert sum(s.low <= 1.0 <= s.high for s in speedups) >= 4, speedups


def test_clocks_agree_about_equal_programs_with_large_inputs(judge):
    # Whoever waited beside one side alone, on the same core, made it slower: 3 of 3 were refused.
    large = PROBLEM.replace("torch.tanh(self.linear(x))", "x @ x.t()").replace(
        "64, 128", "256, 8192"
    )
    honest = large.replace("class Model(", "class ModelNew(")
    assert [judge(large, honest).failure for _ in range(3)] == [None] * 3


def test_an_honest_candidate_passes_every_check(judge):
    judgement = judge(PROBLEM, HONEST)
    assert judgement.failure is None
    assert judgement.candidate_time_s.calls >= 12
    checks = {check.name: check for check in judgement.checks}
    assert all(check.passed for check in checks.values())
    assert checks["state"].evidence == {"parameters": "loaded strictly"}
    assert checks["expectation"].evidence == {"float64": True}
    assert checks["negative_controls"].evidence == {"passed_wrongly": []}


def test_a_slow_candidate_is_slow(judge):
    slow = with_forward("for _ in range(20): self.right(x)\nreturn self.right(x)")
    judgement = judge(PROBLEM, slow)
    assert judgement.failure is None
    assert judgement.speedup.high < 0.7


def test_plain_torch_has_no_kernel_of_its_own(judge):
    judgement = judge(PROBLEM, HONEST, library="partial")
    assert judgement.failure.reason is Reason.NO_CUSTOM_KERNEL


def test_a_compiled_baseline_is_compiled_and_vectorised_in_the_sandbox(judge, supervisor):
    judgement = judge(POINTWISE, POINTWISE_HONEST, baseline="compile")
    assert judgement.failure is None, judgement.failure
    assert judgement.speedup.baseline == "compile"
    made = files_of_references(supervisor, "*.main.so")
    sources = [cpp.read_text() for so in made for cpp in so.parent.glob("*.main.cpp")]
    assert any("at::vec::Vectorized" in text for text in sources), made


def test_stopping_after_correctness_leaves_no_speedup(judge):
    judgement = judge(PROBLEM, HONEST, stop_after="correctness")
    assert judgement.failure is None
    assert judgement.speedup is None


FAILURES = {
    "off by a little": ("return self.right(x) * 1.1", Reason.MISMATCH),
    "one element unwritten": (
        "y = self.right(x).clone()\ny.view(-1)[-1] = 0\nreturn y",
        Reason.MISMATCH,
    ),
    "no bias": ("return torch.tanh(x @ self.linear.weight.T)", Reason.MISMATCH),
    "zeros": ("return torch.zeros_like(x)", Reason.MISMATCH),
    "NaN somewhere": (
        "y = self.right(x).clone()\ny[3, 5] = float('nan')\nreturn y",
        Reason.NONFINITE,
    ),
    "another shape": ("return self.right(x)[:1]", Reason.SCHEMA),
    "broadcastable shape": ("return self.right(x)[None]", Reason.SCHEMA),
    "another dtype": ("return self.right(x).double()", Reason.SCHEMA),
    "expanded": ("return self.right(x)[:1].expand(64, 128)", Reason.SCHEMA),
    "a tuple": ("return (self.right(x),)", Reason.SCHEMA),
    "no tensor": ("return 'PASS'", Reason.SCHEMA),
    "a tensor with attributes": (
        "y = self.right(x)\ny.cpu = lambda: None\nreturn y",
        Reason.SCHEMA,
    ),
    "input changed": ("y = self.right(x).clone()\nx.zero_()\nreturn y", Reason.INPUT_MUTATED),
    "parameter changed": (
        "y = self.right(x)\nself.linear.bias.data.add_(1)\nreturn y",
        Reason.MISMATCH,
    ),
    "first output kept": (
        "if self.kept is None: self.kept = self.right(x)\nreturn self.kept",
        Reason.MISMATCH,
    ),
    "right for three calls": (
        "return self.right(x) if self.calls < 4 else torch.zeros_like(x)",
        {Reason.MISMATCH, Reason.NONDETERMINISTIC},
    ),
    "bf16 arithmetic": (
        "l = self.linear\n"
        "y = x.bfloat16() @ l.weight.bfloat16().T + l.bias.bfloat16()\n"
        "return torch.tanh(y).float()",
        Reason.PRECISION,
    ),
    "raises": ("raise ValueError('no')", Reason.EXCEPTION),
    "raises what has no words": (
        "class E(Exception): __str__ = None\nraise E()",
        Reason.EXCEPTION,
    ),
    "dies of a signal without a name": ("os.kill(os.getpid(), 40)", Reason.EXCEPTION),
    "exits with status 0": ("os._exit(0)", Reason.EARLY_EXIT),
    "raises SystemExit": ("sys.exit(0)", Reason.EARLY_EXIT),
    "null pointer": ("ctypes.string_at(0)", Reason.EXCEPTION),
    "takes all memory": (
        "keep = []\nwhile True: keep.append(torch.empty(1 << 32, dtype=torch.uint8))",
        Reason.OUT_OF_MEMORY,
    ),
    "hangs": ("while True: pass", Reason.RUN_TIMEOUT),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_wrong_candidate_is_refused_for_its_own_reason(judge, name):
    body, reason = FAILURES[name]
    judgement = judge(PROBLEM, with_forward(body), time_limit_s=1.0)
    assert judgement.failure is not None
    reasons = reason if isinstance(reason, set) else {reason}
    assert judgement.failure.reason in reasons, judgement.failure.message


LOADING = {
    "syntax": ("def (", Reason.LOAD_FAILED),
    "raises at import": ("raise RuntimeError('boom')", Reason.LOAD_FAILED),
    "no ModelNew": ("x = 1", Reason.LOAD_FAILED),
    "not a module": ("class ModelNew: pass", Reason.LOAD_FAILED),
    "inherits the reference": ("class ModelNew(Model): pass", Reason.LOAD_FAILED),
    "exits at import": ("import os; os._exit(0)", Reason.EARLY_EXIT),
    "unknown extension": (
        "from torch.utils.cpp_extension import load_inline\n"
        "load_inline(name='x', cpp_sources='int f();', functions=['f'])",
        Reason.LOAD_FAILED,
    ),
}


@pytest.mark.parametrize("name", LOADING)
def test_a_candidate_that_does_not_load_is_told_apart(judge, name):
    source, reason = LOADING[name]
    judgement = judge(PROBLEM, source)
    assert judgement.failure.reason is reason, judgement.failure.message


def test_after_every_failure_the_next_candidate_is_judged_afresh(judge):
    for body in ("os._exit(0)", "while True: pass", "ctypes.string_at(0)"):
        assert judge(PROBLEM, with_forward(body), time_limit_s=0.5).failure is not None
        assert judge(PROBLEM, HONEST, stop_after="correctness").failure is None


def test_a_flood_of_output_ends_nothing_but_its_own_evaluation(judge):
    before = """
def flood():
    while True: os.write(1, b'x' * 60_000)
threading.Thread(target=flood, daemon=True).start()
"""
    for _ in range(3):
        source = with_forward("return self.right(x)", before)
        assert judge(PROBLEM, source, stop_after="correctness").failure is None


def test_a_lost_zygote_is_a_lost_device_once(judge, supervisor):
    supervisor._zygote._process.kill()
    supervisor._zygote._process.wait()
    with pytest.raises(DeviceError):
        judge(PROBLEM, HONEST, stop_after="correctness")
    assert judge(PROBLEM, HONEST, stop_after="correctness").failure is None


def test_a_module_that_has_gone_blames_nobody_and_harms_nothing(judge, supervisor):
    submission = Submission(problem={"source": PROBLEM}, candidate={"source": HONEST})
    built = Built(artifacts={"call": "ab" * 32}, report=BuildReport(path="cache", cached=True))
    with pytest.raises(ArtifactLostError, match="REWARD_SERVICE_ARTIFACT_STORE"):
        supervisor.judge(submission, PROBLEM, built, Context("test", time.time() + 60))
    assert judge(PROBLEM, HONEST, timing=False).failure is None


def test_a_slow_candidate_is_no_silent_judge(judge, monkeypatch):
    monkeypatch.setattr("reward_service.worker.supervisor.STALL_LIMIT_S", 3.0)
    slow = with_forward("time.sleep(0.3)\nreturn self.right(x)")
    assert judge(PROBLEM, slow, stop_after="correctness").failure is None


def test_work_left_to_a_thread_is_noticed(judge):
    body = """
y = torch.zeros_like(x)
x = x.clone()
def later():
    time.sleep(0.0005)
    with torch.no_grad(): y.copy_(self.right(x))
threading.Thread(target=later).start()
return y
"""
    judgement = judge(PROBLEM, with_forward(body))
    assert judgement.failure.reason in (Reason.STALE, Reason.MISMATCH)


def test_a_clock_that_lies_is_overruled(judge):
    before = """
_clock, _state = time.perf_counter_ns, [0, 0]
def _lie():
    now = _clock()
    _state[1] += (now - _state[0]) // 8 if _state[0] else 0
    _state[0] = now
    return _state[1]
time.perf_counter_ns = _lie
"""
    slow = "for _ in range(300): self.right(x)\nreturn self.right(x)"
    judgement = judge(PROBLEM, with_forward(slow, before))
    assert judgement.failure.reason is Reason.CLOCK_DISAGREE


def test_patched_comparisons_change_nothing(judge):
    before = """
torch.allclose = torch.equal = lambda *a, **k: True
torch.testing.assert_close = lambda *a, **k: None
"""
    judgement = judge(PROBLEM, with_forward("return torch.zeros_like(x)", before))
    assert judgement.failure.reason is Reason.MISMATCH


def test_a_verdict_written_to_every_descriptor_is_not_believed(judge):
    body = """
for fd in range(64):
    try: os.write(fd, b'\\x00\\x00\\x00\\x0d{"left": true}')
    except OSError: pass
return torch.zeros_like(x)
"""
    judgement = judge(PROBLEM, with_forward(body))
    assert judgement.failure.reason in (Reason.MISMATCH, Reason.PROTOCOL)


def test_the_reference_is_nowhere_in_the_candidates_process(judge):
    # Its own earlier outputs may be there, kept to be looked at again, and values come again.
    body = """
names = [name for name, module in list(sys.modules.items()) if 'get_inputs' in vars(module)]
assert not names, names
tensors = [t for t in gc.get_objects() if isinstance(t, torch.Tensor) and t.shape == x.shape]
y = self.right(x)
own = self.__dict__.setdefault('own', [])
assert any(t is x for t in tensors)
foreign = [t for t in tensors if t.data_ptr() not in {mine.data_ptr() for mine in own}]
assert not any(torch.allclose(t.float(), y, atol=1e-3) for t in foreign)
own.append(y)
return y
"""
    assert judge(PROBLEM, with_forward(body), stop_after="correctness").failure is None


@pytest.mark.root
def test_the_sandbox_holds_in_the_runner(judge):
    body = """
assert os.getuid() != 0
for attempt in (
    lambda: socket.create_connection(('127.0.0.1', 22), 1),
    lambda: open('/etc/shadow'),
    lambda: open('/etc/passwd'),
    lambda: open('/dev/shm/here', 'w').close() or open('/tmp/here', 'w'),
    lambda: os.listdir('/tmp'),
    lambda: os.listdir('/home'),
    lambda: os.kill(os.getppid(), 0),
    lambda: open('/proc/%d/environ' % os.getppid()).read(),
    lambda: open('/proc/%d/cmdline' % os.getppid()).read(),
    lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM),
    lambda: socket.socket(socket.AF_UNIX).connect('/run/x'),
    lambda: os.setuid(0),
):
    try: attempt()
    except OSError: continue
    raise AssertionError('allowed')
return self.right(x)
"""
    judgement = judge(PROBLEM, with_forward(body), stop_after="correctness")
    assert judgement.failure is None, judgement.failure


@pytest.mark.root
def test_no_process_of_a_candidate_outlives_it(judge, supervisor):
    before = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(0)
"""
    judge(PROBLEM, with_forward("return self.right(x)", before), stop_after="correctness")
    from reward_service.sandbox import processes

    candidate_uid = supervisor._slots[0]["uid"]
    assert [p.pid for p in processes.live() if candidate_uid in p.uids] == []


BAD_PROBLEMS = {
    "does not import": ("import nothing_of_that_name", "nothing_of_that_name"),
    "syntax": ("def (", "SyntaxError"),
    "no Model": (PROBLEM.replace("class Model", "class Other"), "no class Model"),
    "no get_inputs": (PROBLEM.replace("get_inputs", "inputs"), "get_inputs"),
    "returns no tensor": (
        PROBLEM.replace("return torch.tanh(self.linear(x))", "return 1"),
        "no tensor",
    ),
    "returns an object": (
        PROBLEM.replace("return torch.tanh(self.linear(x))", "return object()"),
        "neither tensor nor data",
    ),
    "raises": (PROBLEM.replace("return torch.tanh", "return torch.tanhh"), "tanhh"),
    "not deterministic": (
        PROBLEM.replace(
            "return torch.tanh(self.linear(x))",
            "return torch.tanh(self.linear(x)) + int.from_bytes(__import__('os').urandom(2))",
        ),
        "not deterministic",
    ),
    "constructs at random": (
        PROBLEM.replace(
            "        self.linear = nn.Linear(width, width)",
            "        self.linear = nn.Linear(width, width)\n"
            "        torch.seed()\n"
            "        nn.init.normal_(self.linear.bias)",
        ),
        "not deterministic",
    ),
    "inputs of changing shape": (
        PROBLEM.replace(
            "torch.randn(64, 128)", "torch.randn(int(torch.randint(1, 10**3, ())), 128)"
        ),
        "shapes",
    ),
    "exits": (PROBLEM + "\nimport os; os._exit(0)", "ended itself"),
    "an output without bounds": (
        PROBLEM.replace("(self.linear(x))", "(self.linear(x)).to(torch.float8_e4m3fn)"),
        "no error bounds",
    ),
}


@pytest.mark.parametrize("name", BAD_PROBLEMS)
def test_a_bad_problem_is_named_and_blamed_on_nobody(judge, name):
    source, message = BAD_PROBLEMS[name]
    with pytest.raises(BadProblemError, match=message):
        judge(source, HONEST)


HONEST_BODIES = {
    "more parameters than a call may have tensors": (
        "self.layers = nn.Sequential(*(nn.Linear(8, 8) for _ in range(40)))",
        "self.layers(x)",
        "torch.randn(8, 8)",
    ),
    "a lazily conjugated output": ("pass", "x.conj()", "torch.randn(8, 8, dtype=torch.cfloat)"),
    "a view of the input": ("pass", "x.t()", "torch.randn(8, 16)"),
    "structures": ("pass", "{'a': [x + 1, None], 'b': torch.max(x, 1)}", "torch.randn(8, 16)"),
}


@pytest.mark.parametrize("name", HONEST_BODIES)
def test_a_program_of_any_kind_is_equal_to_itself(judge, name):
    init, result, drawn = HONEST_BODIES[name]
    source = f"""
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    def forward(self, x):
        return {result}

def get_inputs():
    return [{drawn}]

def get_init_inputs():
    return []
"""
    honest = source.replace("class Model(", "class ModelNew(")
    assert judge(source, honest, stop_after="correctness").failure is None


STATEFUL = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(32)

    def forward(self, x):
        return self.norm(x)

def get_inputs():
    return [torch.randn(64, 32)]

def get_init_inputs():
    return []
"""


def test_buffers_that_a_call_updates_count(judge):
    honest = STATEFUL.replace("class Model(", "class ModelNew(")
    assert judge(STATEFUL, honest).failure is None
    forgets = honest.replace(
        "return self.norm(x)",
        "return torch.nn.functional.batch_norm("
        "x, None, None, self.norm.weight, self.norm.bias, training=True)",
    )
    judgement = judge(STATEFUL, forgets)
    assert judgement.failure.reason is Reason.STATE


def parameters(judgement):
    (check,) = (check for check in judgement.checks if check.name == "state")
    return check.evidence["parameters"]


def test_parameters_of_other_names_are_found_by_their_seeded_values(judge):
    renamed = HONEST.replace("self.linear", "self.projection")
    judgement = judge(PROBLEM, renamed, stop_after="correctness")
    assert judgement.failure is None
    assert "seeded values" in parameters(judgement)
    assert judgement.warnings == ()
    without_bias = renamed.replace(
        "self.projection(x)", "torch.nn.functional.linear(x, self.projection.weight)"
    )
    assert judge(PROBLEM, without_bias).failure.reason is Reason.MISMATCH


def test_parameters_in_another_form_are_judged_from_seeded_construction(judge):
    also = "\n        self.flat = nn.Parameter(self.linear.weight.detach().flatten())"
    layer = "nn.Linear(width, width)"
    flat = HONEST.replace(layer, layer + also)
    judgement = judge(PROBLEM, flat, stop_after="correctness")
    assert judgement.failure is None
    assert "one seed" in parameters(judgement)
    assert any("another form" in warning for warning in judgement.warnings)


def test_a_weak_problem_is_said_to_be_weak(judge):
    weak = PROBLEM.replace("return torch.tanh(self.linear(x))", "return 0 * self.linear(x) + 3")
    judgement = judge(weak, weak.replace("class Model(", "class ModelNew("))
    assert any("weak" in warning for warning in judgement.warnings)
    controls = next(c for c in judgement.checks if c.name == "negative_controls")
    assert not controls.passed


def test_nobody_waits_for_a_cancelled_evaluation(supervisor):
    submission = Submission.model_validate(
        {"problem": {"source": PROBLEM}, "candidate": {"source": HONEST}}
    )
    built = Built(report=BuildReport(path="none"))
    with pytest.raises(CancelledError):
        supervisor.judge(
            submission,
            PROBLEM,
            built,
            Context(id="x", deadline=time.time() + 60, cancelled=lambda: True),
        )
    with pytest.raises(QueueDeadlineError):
        supervisor.judge(submission, PROBLEM, built, Context(id="x", deadline=time.time()))
