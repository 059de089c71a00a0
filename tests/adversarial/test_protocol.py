"""Candidates that take over the runner, and what the protocol still holds against them.

A candidate shares its process with the runner, so it can reach every object there and speak the
protocol itself. One property a test; each candidate is otherwise right.
"""

import pytest

from reward_service.schemas import Reason
from tests.e2e.test_judge_cpu import HONEST, PROBLEM, STATEFUL

PRELUDE = """
import sys, time
import torch
from torch import nn
from reward_service.runner.page import Mode
from reward_service.runner.values import digest

def runner():
    frame = sys._getframe()
    while type(frame.f_locals.get('self')).__name__ != 'Runner':
        frame = frame.f_back
    return frame.f_locals['self']
"""

TAKES_OVER = """
class ModelNew(nn.Module):
    def forward(self, x):
        self.take_over(runner())
        return right(x)

    def take_over(self, r):
        words = r.page.words
        def serve(number):
            if words.recall:
                r._export(Mode.WORKING, r.kept, False)
                words.exported = number
                return
            words.ready = number
            early(r, words, number)
            while words.go != number: pass
            r.calls.upload(words.key)
            words.inputs_digest = int(digest(r.calls.inputs))
            words.claimed_ns, words.status = 1_000, 0
            words.done = number
            outputs = late(r, words)
            while words.export != number: pass
            r.kept = outputs if words.keep else r.kept
            r._export(Mode.WORKING, outputs, words.what == 1)
            words.exported = number
        r._serve_call = serve
"""

ELEMENTWISE = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)

def get_inputs():
    return [torch.randn(64, 128)]

def get_init_inputs():
    return []
"""


def test_what_lies_in_memory_before_the_clock_starts_is_of_no_use(judge):
    # An answer that is ready before the clock starts takes no time at all.
    cheat = """
right = torch.relu
def early(r, words, number):
    global answer
    answer = right(r.calls.sources[0].view(torch.float32).nan_to_num()).reshape(64, 128)
    words.digest = int(digest([answer]))
def late(r, words):
    return [answer]
"""
    judgement = judge(ELEMENTWISE, PRELUDE + cheat + TAKES_OVER)
    # The first call is the honest one that takes over; it may be the one that is repeated.
    assert judgement.failure.reason in (Reason.MISMATCH, Reason.NONDETERMINISTIC)


def test_an_output_made_to_fit_an_earlier_digest_is_late(judge):
    # The zeros of a relu may be any tiny numbers, and so make up for any digest.
    cheat = """
right = torch.relu
def early(r, words, number):
    words.digest = 0
def late(r, words):
    time.sleep(0.02)
    y = right(r.calls.inputs[0])
    gap = -int(digest([y])) % 2**64
    bits, zeros = y.view(torch.int32).view(-1), (y.view(-1) == 0).nonzero().view(-1)
    fill(bits, zeros[zeros % 2 == 0].tolist(), gap % 2**32)
    fill(bits, zeros[zeros % 2 == 1].tolist(), gap >> 32)
    return [y]
def fill(bits, places, rest):
    if rest >= 2**31:
        bits[places.pop()] = -2**31
        rest -= 2**31
    while rest:
        bits[places.pop()] = part = min(rest, 2**29 - 1)
        rest -= part
"""
    source = PRELUDE + cheat + TAKES_OVER
    assert judge(ELEMENTWISE, source, stop_after="correctness").failure is None
    assert judge(ELEMENTWISE, source).failure.reason is Reason.CLOCK_DISAGREE


IN_PLACE = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x, y):
        y.add_(x)
        return x.sum(1)

def get_inputs():
    return [torch.randn(64, 128), torch.randn(64, 128)]

def get_init_inputs():
    return []
"""


def test_work_on_an_argument_cannot_be_skipped_once_calls_are_timed(judge):
    cheat = IN_PLACE.replace("class Model(", "calls = 0\nclass ModelNew(").replace(
        "        y.add_(x)",
        "        global calls\n        calls += 1\n        if calls <= 16: y.add_(x)",
    )
    assert judge(IN_PLACE, cheat, stop_after="correctness").failure is None
    assert judge(IN_PLACE, cheat).failure.reason is Reason.INPUT_MUTATED


def test_work_on_a_buffer_cannot_be_skipped_once_calls_are_timed(judge):
    cheat = STATEFUL.replace("class Model(", "calls = 0\nclass ModelNew(").replace(
        "        return self.norm(x)",
        "        global calls\n"
        "        calls += 1\n"
        "        n = self.norm\n"
        "        state = (n.running_mean, n.running_var) if calls <= 16 else (None, None)\n"
        "        n.num_batches_tracked += calls <= 16\n"
        "        return nn.functional.batch_norm(x, *state, n.weight, n.bias, training=True)",
    )
    assert judge(STATEFUL, cheat, stop_after="correctness").failure is None
    assert judge(STATEFUL, cheat).failure.reason is Reason.STATE


def test_claims_that_the_clock_cannot_refute_do_not_pay(judge):
    cheat = """
import random
def lie(r):
    honest = r.window.time
    def time_(call):
        result, ns = honest(call)
        if random.SystemRandom().random() < 0.5:
            time.sleep(0.01)
        return result, 1_000
    r.window.time = time_
class ModelNew(nn.Module):
    def forward(self, x):
        r = runner()
        if not hasattr(r, 'lies'):
            r.lies = True
            lie(r)
        for _ in range(50): y = torch.relu(x)
        return y
"""
    judgement = judge(ELEMENTWISE, PRELUDE + cheat)
    if judgement.failure is None:
        assert judgement.speedup.low < 1
    else:
        assert judgement.failure.reason is Reason.CLOCK_DISAGREE


def test_a_state_too_large_for_the_worker_is_the_candidates_fault(judge):
    cheat = """
import reward_service.runner.main as main
honest = main.spec
main.spec = lambda t: honest(t) | {'shape': [1 << 39], 'strides': [1]}
"""
    renamed = HONEST.replace("self.linear", "self.projection")
    judgement = judge(PROBLEM, cheat + renamed)
    assert judgement.failure.reason is Reason.OUT_OF_MEMORY


@pytest.mark.parametrize("fixed", ["torch.ones(64, 128)", "torch.eye(128)"])
def test_inputs_that_never_change_can_judge_nobody(judge, fixed):
    from reward_service.errors import BadProblemError

    problem = ELEMENTWISE.replace("torch.randn(64, 128)", fixed)
    with pytest.raises(BadProblemError, match="same values"):
        judge(problem, problem.replace("class Model(", "class ModelNew("))


def test_unveiling_an_input_cannot_be_left_for_later(judge):
    # Every call unveils all inputs between 'go' and 'loaded'. Who skipped that for an input that
    # the result does not need would have as much time for work that it does not claim.
    problem = ELEMENTWISE.replace("forward(self, x)", "forward(self, x, unused)").replace(
        "[torch.randn(64, 128)]", "[torch.randn(64, 128), torch.randn(1 << 20)]"
    )
    cheat = """
from reward_service.runner.veil import unveil
def spend(r):
    whole, export = r.calls.upload, r._export
    def first_only(key):
        target = r.calls.inputs[0].view(-1).view(torch.uint8)
        target.copy_(r.calls.staged[0])
        unveil([target], key)
        r.early = r.models[Mode.WORKING](*r.calls.inputs)
    def lie(call):
        time.sleep(1e-5)
        return r.early, 1_000
    r.calls.upload = first_only
    def restore(mode, outputs, everything):
        if everything: whole(r.page.words.key)
        export(mode, outputs, everything)
    r.window.time, r._export = lie, restore
class ModelNew(nn.Module):
    def forward(self, x, unused):
        r = runner()
        if not hasattr(r, 'spends'):
            r.spends = True
            spend(r)
        for _ in range(20): y = torch.relu(x)
        return y
"""
    assert judge(problem, PRELUDE + cheat).failure.reason is Reason.STALE
