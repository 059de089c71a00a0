"""Which inputs the judge may make: learnt from draws, and `redraw` when in doubt."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from reward_service.judge.domains import Kind, detect_domains

torch.set_num_threads(1)

randn, rand, randint = torch.randn, torch.rand, torch.randint


def triplet():
    anchor = randn(64, 128)
    return [anchor, anchor + 0.1 * randn(64, 128), randn(64, 128)]


def with_magnitude():
    x = randn(64, 128)
    return [x, x.abs()]


MADE = {
    "normal": (lambda: randn(64, 128), "signed", "normal"),
    "normal, four dimensions": (lambda: randn(2, 3, 32, 32), "signed", "normal"),
    "normal, 64 elements": (lambda: randn(64), "signed", "normal"),
    "normal, float16": (lambda: randn(64, 128).half(), "signed", "normal"),
    "normal, bfloat16": (lambda: randn(64, 128).bfloat16(), "signed", "normal"),
    "normal, transposed": (lambda: randn(64, 128).T, "signed", "normal"),
    "uniform": (lambda: rand(64, 128), "unit", "uniform"),
    "uniform, bfloat16": (lambda: rand(64, 128, dtype=torch.bfloat16), "unit", "uniform"),
    "uniform, wide": (lambda: rand(64, 128) * 20 - 10, "signed", "uniform"),
    "uniform to 10": (lambda: rand(64, 128) * 10, "nonnegative", "uniform"),
    "probabilities": (lambda: randn(64, 128).sigmoid(), "unit", "other"),
    "exponential": (lambda: torch.empty(100, 100).exponential_(), "nonnegative", "other"),
    "lognormal": (lambda: randn(64, 128).exp(), "nonnegative", "other"),
    "magnitudes": (lambda: randn(64, 128).abs(), "nonnegative", "other"),
    "heavy-tailed": (lambda: randn(64, 128) / randn(64, 128), "signed", "other"),
}

REDRAWN = {
    "integers": lambda: randint(5, (100,)),
    "bools": lambda: rand(100) > 0.5,
    "complex": lambda: randn(64, 64, dtype=torch.complex64),
    "few elements": lambda: randn(32),
    "whole numbers": lambda: randint(10**6, (1000,)).float(),
    "binary": lambda: (rand(64, 64) > 0.5).float(),
    "signs": lambda: randint(2, (128,)) * 2.0 - 1,
    "one-hot": lambda: torch.eye(10)[randint(10, (100,))],
    "rectified": lambda: randn(64, 128).relu(),
    "padded": lambda: torch.cat([randn(64, 100), torch.zeros(64, 28)], 1),
    "infinite": lambda: randn(64, 128).masked_fill(rand(64, 128) < 0.01, -torch.inf),
    "rows sum to one": lambda: rand(64, 128).softmax(1),
    "columns sum to one": lambda: rand(64, 128).softmax(0),
    "few rows sum to one": lambda: rand(3, 128).softmax(1),
    "a vector sums to one": lambda: rand(640).softmax(0),
    "pairs sum to one": lambda: (lambda p: torch.stack([p, 1 - p], 1))(rand(500)),
    "rows of norm one": lambda: F.normalize(randn(64, 128), dim=1),
    "orthogonal": lambda: torch.linalg.qr(randn(64, 64)).Q,
    "sorted rows": lambda: randn(64, 128).sort(1).values,
    "a sorted vector": lambda: randn(128).sort().values,
    "sorted pairs": lambda: rand(400, 2).sort(1).values,
    "a running sum": lambda: rand(64, 128).cumsum(1),
    "times": lambda: torch.arange(1000.0) + rand(1000),
    "smooth": lambda: torch.linspace(0, 50, 5000).sin() + 0.1 * randn(5000),
    "an image": lambda: F.interpolate(randn(2, 3, 16, 16), scale_factor=2, mode="bilinear"),
    "symmetric": lambda: (lambda a: a + a.T)(randn(100, 100)),
    "antisymmetric": lambda: (lambda a: a - a.T)(randn(100, 100)),
    "a batch of symmetric": lambda: (lambda a: a + a.mT)(randn(8, 30, 30)),
    "positive definite": lambda: (lambda a: a @ a.T)(randn(50, 50)),
    "triangular": lambda: randn(100, 100).tril(),
    "scaled by column": lambda: randn(64, 128) * rand(128),
    "shifted by column": lambda: randn(64, 128) + randn(128),
    "scaled by row": lambda: randn(64, 128) * rand(64, 1),
    "repeated": lambda: randn(32, 64).repeat(2, 1),
    "interleaved": lambda: randn(32, 64).repeat_interleave(2, 1),
    "expanded": lambda: randn(1, 100).expand(64, 100),
    "random scale": lambda: rand(64, 128) * rand(()),
    "random shape": lambda: randn(int(randint(64, 100000, ())), 3),
    "from one upwards": lambda: rand(64, 128) + 1,
    "far from zero": lambda: randn(64, 128) + 3,
    "all negative": lambda: -rand(64, 128),
    "between -1 and 1": lambda: rand(64, 128) * 2 - 1,
    "cosines": lambda: randn(64, 128).cos(),
}


@pytest.fixture(autouse=True)
def _seed():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.mark.parametrize("name", MADE)
def test_plain_inputs_may_be_made(name):
    draw, kind, shape = MADE[name]
    (domain,) = detect_domains([[draw()], [draw()]])
    assert (domain.kind, domain.shape) == (kind, shape)
    assert domain.generated


@pytest.mark.parametrize("name", REDRAWN)
def test_inputs_with_a_meaning_are_drawn_again(name):
    draw = REDRAWN[name]
    (domain,) = detect_domains([[draw()], [draw()]])
    assert domain.kind is Kind.REDRAW
    assert not domain.generated


def test_what_never_changes_is_fixed():
    table = randn(64, 64)
    domains = detect_domains([[table, randn(64, 64)], [table.clone(), randn(64, 64)]])
    assert [d.kind for d in domains] == [Kind.FIXED, Kind.SIGNED]


def test_partly_fixed_and_partly_repeated_draws_are_drawn_again():
    kept = randn(32, 64)
    draws = [[torch.cat([kept, randn(32, 64)])] for _ in range(2)]
    assert detect_domains(draws)[0].kind is Kind.REDRAW
    near = randn(64, 64)
    draws = [[near + 0.1 * randn(64, 64)] for _ in range(2)]
    assert detect_domains(draws)[0].kind is Kind.REDRAW


@pytest.mark.parametrize(
    ("draw", "kinds"),
    [(triplet, ["redraw", "redraw", "signed"]), (with_magnitude, ["redraw", "redraw"])],
)
def test_inputs_tied_to_each_other_are_drawn_again(draw, kinds):
    assert [d.kind for d in detect_domains([draw(), draw()])] == kinds


def test_independent_inputs_are_hardly_ever_taken_for_structured_ones():
    draws = (
        lambda: randn(16, 24),
        lambda: rand(4, 8, 16),
        lambda: randn(97),
        lambda: torch.empty(2, 500).exponential_(),
        lambda: randn(2, 2, 40, 3),
    )
    verdicts = [detect_domains([[d()], [d()]])[0].generated for _ in range(60) for d in draws]
    assert sum(verdicts) >= 298  # of 300


def test_more_draws_are_used_and_unequal_ones_refused():
    third = [randn(64, 64) * 5]
    assert detect_domains([[randn(64, 64)], [randn(64, 64)], third])[0].kind is Kind.REDRAW
    for draws in ([[randn(4)]], [[randn(4)], []]):
        with pytest.raises(ValueError, match="draws"):
            detect_domains(draws)
