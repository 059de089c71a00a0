"""Values that the judge makes: in the domain always, never twice the same, of the asked kind."""

from __future__ import annotations

import math
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reward_service.judge.controls import lower_precision
from reward_service.judge.values import (
    Domain,
    Kind,
    Variation,
    generate,
    plan_trials,
    randomise_state,
)

torch.set_num_threads(1)

SIGNED = Domain(Kind.SIGNED, 0.0, 1.0, "normal")
UNIT = Domain(Kind.UNIT, 0.5, 0.2887, "uniform")
NONNEGATIVE = Domain(Kind.NONNEGATIVE, 1.0, 1.0, "other")
DOMAINS = {
    "signed": SIGNED,
    "signed uniform": Domain(Kind.SIGNED, 1.0, 5.0, "uniform"),
    "signed other": Domain(Kind.SIGNED, 0.2, 3.0, "other"),
    "huge": Domain(Kind.SIGNED, 0.0, 3e4, "normal"),
    "unit": UNIT,
    "unit other": Domain(Kind.UNIT, 0.4, 0.2, "other"),
    "nonnegative": NONNEGATIVE,
    "nonnegative uniform": Domain(Kind.NONNEGATIVE, 5.0, 2.887, "uniform"),
    "tiny": Domain(Kind.NONNEGATIVE, 1e-6, 1e-6, "other"),
}
DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def drawn(domain: Domain, shape: list[int], dtype: torch.dtype, g: torch.Generator):
    if domain.kind is Kind.UNIT:
        return torch.rand(shape, generator=g).to(dtype).clamp(max=0.99)
    x = torch.randn(shape, generator=g) * domain.std + domain.mean
    return (x.abs() if domain.kind is Kind.NONNEGATIVE else x).to(dtype)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    st.sampled_from(sorted(DOMAINS)),
    st.sampled_from(list(Variation)),
    st.sampled_from(DTYPES),
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.integers(0, 2**31),
)
def test_values_stay_in_the_domain_and_keep_the_layout(name, kind, dtype, shape, seed):
    domain, g = DOMAINS[name], seeded(seed)
    base = drawn(domain, shape, dtype, g)
    base = base.permute(torch.randperm(base.dim(), generator=g).tolist())
    before = base.clone()
    x = generate(domain, base, kind, g, "cpu")
    assert (x.shape, x.dtype, x.stride()) == (base.shape, dtype, base.stride())
    assert x.data_ptr() != base.data_ptr()
    assert torch.equal(base, before)
    assert x.isfinite().all()
    if domain.kind is not Kind.SIGNED:
        assert (x > 0).all()
    if domain.kind is Kind.UNIT:
        assert (x < 1).all()


@pytest.mark.parametrize("kind", list(Variation))
@pytest.mark.parametrize("name", sorted(DOMAINS))
def test_no_two_calls_are_equal(name, kind):
    g = seeded()
    base = drawn(DOMAINS[name], [32, 32], torch.float32, g)
    seen = [base] + [generate(DOMAINS[name], base, kind, g, "cpu") for _ in range(3)]
    for i, x in enumerate(seen):
        assert not any(torch.equal(x, y) for y in seen[:i])


def test_the_generator_alone_decides():
    base = torch.randn(64, 64, generator=seeded(9))
    for kind in Variation:
        torch.manual_seed(1)
        a = generate(SIGNED, base, kind, seeded(5), "cpu")
        torch.manual_seed(2)
        state = torch.random.get_rng_state()
        b = generate(SIGNED, base, kind, seeded(5), "cpu")
        assert torch.equal(a, b)
        assert torch.equal(torch.random.get_rng_state(), state)


def make(domain: Domain, kind: Variation, shape=(512, 256)):
    g = seeded(3)
    return generate(domain, drawn(domain, list(shape), torch.float32, g), kind, g, "cpu").double()


@pytest.mark.parametrize("name", ["signed", "signed uniform", "unit", "nonnegative uniform"])
def test_as_drawn_has_the_mean_and_spread_of_the_input(name):
    x, domain = make(DOMAINS[name], Variation.AS_DRAWN), DOMAINS[name]
    assert x.mean().item() == pytest.approx(domain.mean, abs=0.02 * domain.std)
    assert x.std().item() == pytest.approx(domain.std, rel=0.02)


def test_as_drawn_resamples_what_has_no_name():
    base = seeded()
    values = torch.empty(512, 256).exponential_(generator=base)
    x = generate(NONNEGATIVE, values, Variation.AS_DRAWN, base, "cpu")
    for q in (0.05, 0.5, 0.95):
        want = values.flatten()[:65536].quantile(q).item()
        assert x.flatten()[:65536].quantile(q).item() == pytest.approx(want, rel=0.05)
    assert not torch.isin(x, values).double().mean() > 0.01


def test_heavy_has_heavier_tails():
    def kurtosis(x):
        z = (x - x.mean()) / x.std()
        return z.pow(4).mean().item()

    assert kurtosis(make(SIGNED, Variation.HEAVY)) > 4.5
    assert make(SIGNED, Variation.HEAVY).std().item() == pytest.approx(1.0, rel=0.05)
    assert kurtosis(make(NONNEGATIVE, Variation.HEAVY)) > 15
    assert make(UNIT, Variation.HEAVY).median().item() < 0.1


@pytest.mark.parametrize("domain", [SIGNED, NONNEGATIVE, UNIT], ids=lambda d: d.kind)
def test_scaled_rows_spread_over_a_factor_of_16(domain):
    rms = make(domain, Variation.SCALED).square().mean(1).sqrt()
    assert 12 < (rms.max() / rms.min()).item() < 22


def test_shifted_moves_by_half_to_one_and_a_half_deviations():
    for seed in range(20):
        g = seeded(seed)
        base = torch.randn(64, 64, generator=g)
        mean = generate(SIGNED, base, Variation.SHIFTED, g, "cpu").mean().item()
        assert 0.4 < abs(mean) < 1.6
    assert make(NONNEGATIVE, Variation.SHIFTED).min() > 0.5
    assert make(UNIT, Variation.SHIFTED).min() > 0.2


@pytest.mark.parametrize("domain", [SIGNED, NONNEGATIVE, UNIT], ids=lambda d: d.kind)
def test_spiked_hides_8_to_64_values_of_8_times_the_scale(domain):
    places = []
    for seed in range(10):
        g = seeded(seed)
        base = drawn(domain, [64, 1024], torch.float32, g)
        x = generate(domain, base, Variation.SPIKED, g, "cpu").abs()
        unit = domain.kind is Kind.UNIT
        scale = 0.125 if unit else math.hypot(domain.mean, domain.std)
        spikes = (x > (5 if unit else 6.3) * scale).flatten().nonzero().flatten()
        assert 7 <= len(spikes) <= 64  # two may fall on one place
        assert x.max() <= 9.7 * scale
        places.append(set(spikes.tolist()))
    assert len(set.union(*places)) > 0.95 * sum(map(len, places))


def test_small_is_a_sixteenth():
    assert make(SIGNED, Variation.SMALL).std().item() == pytest.approx(1 / 16, rel=0.02)


@pytest.mark.parametrize("name", ["tf32", "fp16", "bf16"])
@pytest.mark.parametrize("domain", [SIGNED, NONNEGATIVE, UNIT], ids=lambda d: d.kind)
def test_rounding_fine_values_loses_a_4096th_of_nearly_each(domain, name):
    x = make(domain, Variation.FINE)
    lost = (x - lower_precision(x, name)) / x
    whole = x.abs() > 1e-4  # fp16 has no full mantissa for smaller ones
    # Those that would leave the domain are at its end instead.
    assert ((lost - 2.0**-12).abs() < 1e-7)[whole].double().mean() > 0.99


@pytest.mark.parametrize("kind", [Kind.FIXED, Kind.REDRAW])
def test_what_is_not_ours_to_make_is_refused(kind):
    with pytest.raises(ValueError, match=kind):
        generate(Domain(kind), torch.ones(3), Variation.AS_DRAWN, seeded(), "cpu")


# --- plan -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 3, 6, 7, 20])
def test_a_plan_has_what_it_must_in_changing_order(n):
    plans = [plan_trials([SIGNED], n, random.Random(i)) for i in range(50)]
    for plan in plans:
        assert len(plan) == n
        assert n < 1 or Variation.AS_DRAWN in plan
        assert n < 2 or Variation.SPIKED in plan
        assert n < 3 or Variation.FINE in plan
        assert n < 7 or set(plan) == set(Variation)
    if n >= 5:
        assert len({tuple(plan) for plan in plans}) > 40
        assert len({plan.index(Variation.AS_DRAWN) for plan in plans}) >= 4


def test_without_inputs_of_ours_every_trial_is_as_drawn():
    plan = plan_trials([Domain(Kind.FIXED), Domain(Kind.REDRAW)], 4, random.Random(0))
    assert plan == [Variation.AS_DRAWN] * 4


# --- state ----------------------------------------------------------------------------------


def sinusoids() -> torch.Tensor:
    angles = torch.arange(50.0)[:, None] / 10000 ** (torch.arange(32.0) / 32)
    return torch.cat([angles.sin(), angles.cos()], 1)


TABLES = {
    "num_batches_tracked": torch.tensor(3),
    "mask": torch.ones(8, 8).tril().bool(),
    "causal": torch.full((8, 8), -math.inf).triu(1),
    "bias_mask": torch.ones(16, 16).tril(),
    "large_negative_mask": torch.ones(8, 8).triu(1) * -1e9,
    "positions": torch.arange(12.0),
    "steps": torch.linspace(0.1, 0.9, 5),
    "inv_freq": 1 / 10000 ** (torch.arange(32.0) / 32),
    "pe": sinusoids(),
    "eye": torch.eye(6),
    "ids": torch.arange(10),
    "empty": torch.empty(0),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_stay(name):
    before = TABLES[name].clone()
    assert torch.equal(randomise_state(name, TABLES[name], seeded()), before)


def test_every_parameter_and_statistic_of_a_model_changes_and_stays_sane():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 3),
            torch.nn.BatchNorm2d(16),
            torch.nn.PReLU(),
            torch.nn.LayerNorm(8),
            torch.nn.Linear(8, 4),
            torch.nn.LSTM(8, 8),
            torch.nn.MultiheadAttention(16, 2),
            torch.nn.Embedding(40, 8),
        )
    g = seeded()
    for name, old in model.state_dict().items():
        new = randomise_state(name, old, g)
        assert (new.shape, new.dtype) == (old.shape, old.dtype)
        if name.endswith("num_batches_tracked"):
            assert torch.equal(new, old)
            continue
        assert not torch.equal(new, old), name
        assert (new != old).double().mean() > 0.99
        assert new.isfinite().all()
        if old.numel() > 8 and old.std() > 0:
            assert 0.5 < (new.std() / old.std()).item() < 2, name
        if name.endswith("running_var"):
            assert (new > 0).all()
    model.load_state_dict({k: randomise_state(k, v, g) for k, v in model.state_dict().items()})


def test_constants_become_values_near_them():
    zeros = randomise_state("bias", torch.zeros(4096), seeded())
    assert zeros.std().item() == pytest.approx(0.1, rel=0.1)
    ones = randomise_state("weight", torch.ones(4096), seeded())
    assert ones.mean().item() == pytest.approx(1.0, abs=0.01)
    assert ones.std().item() == pytest.approx(0.1, rel=0.1)
    assert ones.min() > 0.5
    slope = randomise_state("alpha", torch.tensor([0.25]), seeded())
    assert 0.1 < slope.item() < 0.4
    assert slope.item() != 0.25


def test_positive_buffers_stay_positive_and_keep_their_scale():
    old = torch.rand(500, generator=seeded(1)) + 0.01
    new = randomise_state("variance", old, seeded())
    assert (new > 0).all()
    ratio = new / old
    assert ratio.median().item() == pytest.approx(1, abs=0.1)
    assert ratio.min() > 0.2
    assert ratio.max() < 5
    assert not (new == old).any()


def test_state_depends_on_the_generator_only():
    old = torch.randn(64, generator=seeded(1))
    a, b = (randomise_state("w", old, seeded(2)) for _ in range(2))
    assert torch.equal(a, b)
    assert not torch.equal(a, randomise_state("w", old, seeded(3)))
    assert torch.equal(old, torch.randn(64, generator=seeded(1)))
