"""The judge's numerics on CUDA tensors, and against what tensor cores really do."""

from __future__ import annotations

import math

import pytest
import torch

from reward_service.judge.accuracy import bounds, classify, measure, within
from reward_service.judge.controls import lower_precision, weak_controls
from reward_service.judge.domains import Domain, Kind
from reward_service.judge.values import Variation, generate, randomise_state

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def seeded(device: str = "cuda", seed: int = 0) -> torch.Generator:
    return torch.Generator(device=device).manual_seed(seed)


@pytest.mark.parametrize("shape", [(64, 100), (1 << 20,), (3, 600_000)])
def test_errors_are_those_of_the_cpu(shape):
    expected = torch.randn(shape, generator=seeded("cpu"), dtype=torch.float64)
    expected.view(-1)[5] = -math.inf
    actual = (expected * (1 + 1e-3)).float()
    here, there = measure(actual, expected), measure(actual.cuda(), expected.cuda())
    assert there.worst_index == here.worst_index
    for field in ("rel_frobenius", "worst", "bias"):
        assert getattr(there, field) == pytest.approx(getattr(here, field), rel=1e-9)


def test_a_comparison_takes_64_mib_at_most():
    expected = torch.ones(1 << 26, dtype=torch.float64, device="cuda")
    actual = expected.float()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    assert measure(actual, expected).worst == 0
    assert torch.cuda.max_memory_allocated() - before <= 64 << 20


@pytest.fixture
def _flags():
    before = torch.backends.cuda.matmul.allow_tf32
    yield
    torch.backends.cuda.matmul.allow_tf32 = before


@pytest.mark.usefixtures("_flags")
def test_a_real_tf32_product_is_told_from_fp32():
    g = seeded()
    a, b = (torch.randn(1024, 1024, device="cuda", generator=g) for _ in range(2))
    expected = a.double() @ b.double()

    def product(x, y, tf32):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        return x @ y

    own = measure(product(a, b, False), expected)
    fast = measure(product(a, b, True), expected)
    controls = {
        name: measure(product(lower_precision(a, name), lower_precision(b, name), False), expected)
        for name in ("tf32", "fp16", "bf16")
    }
    assert within(own, bounds(own, torch.float32, "fp32"))
    assert not within(fast, bounds(own, torch.float32, "fp32"))
    assert within(fast, bounds(own, torch.float32, "tf32"))
    assert not within(controls["bf16"], bounds(own, torch.float32, "tf32"))
    assert classify(fast, controls) in ("tf32", "fp16")


def test_rounding_is_that_of_the_cpu():
    x = torch.randn(10_000, generator=seeded("cpu"))
    for name in ("tf32", "fp16", "bf16"):
        assert torch.equal(lower_precision(x.cuda(), name).cpu(), lower_precision(x, name))


@pytest.mark.parametrize("kind", list(Variation))
def test_values_and_state_are_made_on_the_device(kind):
    for domain in (
        Domain(Kind.SIGNED, 0.0, 1.0, "normal"),
        Domain(Kind.UNIT, 0.5, 0.2887, "uniform"),
        Domain(Kind.NONNEGATIVE, 1.0, 1.0, "other"),
    ):
        g = seeded()
        x = generate(domain, torch.rand(64, 64).T, kind, g, "cuda")
        y = generate(domain, torch.rand(64, 64).T, kind, g, "cuda")
        assert (x.device.type, x.stride()) == ("cuda", (1, 64))
        assert x.isfinite().all()
        assert not torch.equal(x, y)
        assert domain.kind is Kind.SIGNED or bool((x > 0).all())
    assert randomise_state("bias", torch.zeros(8, device="cuda"), seeded()).is_cuda


def test_controls_work_on_the_device():
    y = torch.randn(64, 64, generator=seeded(), device="cuda", dtype=torch.float64)
    limit = bounds(measure(y.float(), y), torch.float32, "fp32")
    integers = (y * 10).long()
    assert weak_controls([y, integers], [torch.rand(64, 64)], [limit, None]) == []
