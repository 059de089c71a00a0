"""The bounds against real arithmetic: honest work passes, one lower precision does not.

Each case names the reference in float64, an implementation in float32, and the largest share of
its bounds that it may use: twice the measured one, which its name tells.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from reward_service.judge.accuracy import Bounds, Errors, bounds, classify, measure, within
from reward_service.judge.controls import lower_precision
from reward_service.judge.values import Domain, Kind, Variation, generate

torch.set_num_threads(1)

K = 4096
G = torch.Generator().manual_seed(0)
A, B = torch.randn(48, K, generator=G), torch.randn(K, 48, generator=G)
POSITIVE = (torch.rand(48, 64, generator=G), torch.rand(64, 48, generator=G))
X = torch.randn(48, K, generator=G)


def share(errors: Errors, limit: Bounds) -> float:
    """The largest part of a bound that is used up."""
    assert errors.finite
    return max(
        errors.rel_frobenius / limit.rel_frobenius,
        errors.worst / limit.worst,
        errors.bias / limit.bias,
    )


def sequential_product(a: Tensor, b: Tensor) -> Tensor:
    total = torch.zeros(a.shape[0], b.shape[1], dtype=a.dtype)
    for k in range(a.shape[1]):
        total += a[:, k : k + 1] * b[k : k + 1]
    return total


def sequential_sum(x: Tensor) -> Tensor:
    total = torch.zeros(x.shape[0], dtype=x.dtype)
    for k in range(x.shape[1]):
        total += x[:, k]
    return total.unsqueeze(1)


def naive_softmax(x: Tensor) -> Tensor:
    e = (x - x.amax(1, keepdim=True)).exp()
    return e / sequential_sum(e)


def one_pass_layernorm(x: Tensor) -> Tensor:
    mean = sequential_sum(x) / K
    return (x - mean) / (sequential_sum(x * x) / K - mean * mean + 1e-5).sqrt()


def tanh_by_exp(x: Tensor) -> Tensor:
    e = (2 * x).exp()
    return (e - 1) / (e + 1)


def gelu_by_erf(x: Tensor) -> Tensor:
    return x * 0.5 * (1 + (x * 0.70710678).erf())


def layernorm(x: Tensor) -> Tensor:
    return F.layer_norm(x, (K,))


def softmax(x: Tensor) -> Tensor:
    return x.softmax(1)


# name, reference, honest implementation, operands, share of the bound it may use
HONEST = [
    ("library_matmul_K4096_uses_4_percent", torch.matmul, torch.matmul, (A, B), 0.08),
    ("sequential_matmul_K4096_uses_12_percent", torch.matmul, sequential_product, (A, B), 0.22),
    ("naive_softmax_uses_10_percent", softmax, naive_softmax, (X,), 0.22),
    ("one_pass_layernorm_uses_5_percent", layernorm, one_pass_layernorm, (X,), 0.1),
    ("one_pass_layernorm_mean_1_uses_16_percent", layernorm, one_pass_layernorm, (X + 1,), 0.28),
    ("tanh_by_exp_uses_1_percent", torch.tanh, tanh_by_exp, (X,), 0.02),
    ("tanh_by_exp_of_small_uses_35_percent", torch.tanh, tanh_by_exp, (X / 256,), 0.7),
    ("gelu_by_erf_uses_1_percent", F.gelu, gelu_by_erf, (X,), 0.02),
    ("sigmoid_uses_1_percent", torch.sigmoid, lambda x: 1 / (1 + (-x).exp()), (X,), 0.02),
]


@pytest.mark.parametrize(
    ("reference", "honest", "operands", "at_most"),
    [h[1:] for h in HONEST],
    ids=[h[0] for h in HONEST],
)
def test_honest_fp32_passes(reference, honest, operands, at_most):
    expected = reference(*(x.double() for x in operands))
    own = measure(reference(*operands), expected)
    errors = measure(honest(*operands), expected)
    limit = bounds(own, torch.float32, "fp32")
    assert within(errors, limit)
    assert share(errors, limit) <= at_most


REFERENCES: dict[str, tuple[Callable[..., Tensor], tuple[Tensor, ...]]] = {
    "matmul_K4096": (torch.matmul, (A, B)),
    "positive_matmul_K64": (torch.matmul, POSITIVE),
    "softmax": (softmax, (X,)),
    "layernorm": (layernorm, (X,)),
    "tanh": (torch.tanh, (X,)),
    "gelu": (F.gelu, (X,)),
    "sigmoid": (torch.sigmoid, (X,)),
    "relu": (torch.relu, (X,)),
    "row_sum": (lambda x: x.sum(1), (X,)),
}


@pytest.mark.parametrize("precision", ["tf32", "fp16", "bf16"])
@pytest.mark.parametrize("name", sorted(REFERENCES))
def test_lower_precision_inputs_fail_fp32_at_4_times_the_bound_or_more(name, precision):
    reference, operands = REFERENCES[name]
    expected = reference(*(x.double() for x in operands))
    limit = bounds(measure(reference(*operands), expected), torch.float32, "fp32")
    rounded = reference(*(lower_precision(x, precision) for x in operands))
    errors = measure(rounded, expected)
    assert not within(errors, limit)
    assert share(errors, limit) >= 4
    controls = {
        p: measure(reference(*(lower_precision(x, p).double() for x in operands)), expected)
        for p in ("tf32", "fp16", "bf16")
    }
    # tf32 and fp16 have the same mantissa.
    assert classify(errors, controls) in ({"bf16"} if precision == "bf16" else {"tf32", "fp16"})


LONG = {
    "row_sum": lambda x, w: x.sum(1),
    "product": torch.matmul,
    "mean": lambda x, w: x.mean(1),
}


@pytest.mark.parametrize("precision", ["tf32", "tf32_cut", "fp16", "bf16"])
@pytest.mark.parametrize("name", sorted(LONG))
def test_long_positive_sums_show_rounded_operands_on_fine_values(name, precision):
    base, w = torch.rand(48, K, generator=G), torch.rand(K, 48, generator=G)
    domain = Domain(Kind.UNIT, 0.5, 0.2887, "uniform")
    x = generate(domain, base, Variation.FINE, torch.Generator().manual_seed(1), "cpu")
    reference = LONG[name]
    expected = reference(x.double(), w.double())
    limit = bounds(measure(reference(x, w), expected), torch.float32, "fp32")
    lower = reference(lower_precision(x, precision), w)
    assert share(measure(lower, expected), limit) >= 4
    if precision == "tf32":  # on values as they are drawn it is not seen
        expected = reference(base.double(), w.double())
        limit = bounds(measure(reference(base, w), expected), torch.float32, "fp32")
        assert within(measure(reference(lower_precision(base, "tf32"), w), expected), limit)


@pytest.mark.parametrize("precision", ["tf32", "fp16", "bf16"])
@pytest.mark.parametrize("name", sorted(REFERENCES))
def test_lower_precision_outputs_fail_fp32_at_15_times_the_bound_or_more(name, precision):
    reference, operands = REFERENCES[name]
    working = reference(*operands)
    expected = reference(*(x.double() for x in operands))
    limit = bounds(measure(working, expected), torch.float32, "fp32")
    errors = measure(lower_precision(working, precision), expected)
    assert share(errors, limit) >= 15


@pytest.mark.parametrize("name", sorted(REFERENCES))
def test_tf32_rounded_or_truncated_passes_tf32_and_bf16_does_not(name):
    reference, operands = REFERENCES[name]
    expected = reference(*(x.double() for x in operands))
    limit = bounds(measure(reference(*operands), expected), torch.float32, "tf32")
    for kind in ("tf32", "tf32_cut"):
        rounded = reference(*(lower_precision(x, kind) for x in operands))
        assert within(measure(rounded, expected), limit)
    bf16 = reference(*(lower_precision(x, "bf16") for x in operands))
    assert not within(measure(lower_precision(bf16, "bf16"), expected), limit)


@pytest.mark.parametrize(("dtype", "name"), [(torch.float16, "fp16"), (torch.bfloat16, "bf16")])
@pytest.mark.parametrize("op", sorted(REFERENCES))
def test_half_types_pass_their_own_bounds_and_the_next_lower_fails(op, dtype, name):
    reference, operands = REFERENCES[op]
    half = tuple(x.to(dtype) for x in operands)
    expected = reference(*(x.double() for x in half))
    # The candidate computes in float32 and rounds once; the reference as torch does.
    limit = bounds(measure(reference(*half), expected), dtype, "fp32")
    honest = reference(*(x.float() for x in half)).to(dtype)
    assert within(measure(honest, expected), limit)
    lower = {"fp16": torch.bfloat16, "bf16": torch.float8_e4m3fn}[name]
    if op != "softmax" or name == "fp16":  # its values are below float8's smallest
        assert not within(measure(honest.to(lower).to(dtype), expected), limit)


def test_half_accumulation_over_4096_products_fails_fp16():
    half = (A.half(), B.half())
    expected = half[0].double() @ half[1].double()
    limit = bounds(measure(half[0] @ half[1], expected), torch.float16, "fp16")
    errors = measure(sequential_product(*half), expected)
    assert share(errors, limit) >= 4


def test_fp32_fails_fp64_and_sequential_fp64_passes():
    a, b = A.double(), B.double()
    expected = a @ b
    limit = bounds(measure(a @ b, expected), torch.float64, "fp32")
    assert share(measure(sequential_product(a, b), expected), limit) <= 0.01
    assert share(measure((A @ B).double(), expected), limit) >= 1e4


def test_another_function_fails():
    expected = F.gelu(X.double())
    limit = bounds(measure(F.gelu(X), expected), torch.float32, "fp32")
    assert not within(measure(F.gelu(X, approximate="tanh"), expected), limit)


def test_rounding_shows_no_error_where_a_relu_leaves_a_row_nearly_empty() -> None:
    # Seen on a GPU: 3.48e-5 instead of 3.49e-5 beside 15 zeros, in an output of scale 1.
    torch.manual_seed(0)
    for _ in range(20):
        x = torch.randn(32, 16, 16, 16) * (1 + 2 * torch.rand(16, 1, 1)) + torch.randn(16, 1, 1)
        bias = torch.randn(16) - 1.5
        exact = torch.relu(F.batch_norm(x.double(), None, None, None, bias.double(), training=True))
        own = torch.relu(F.batch_norm(x, None, None, None, bias, training=True))
        rows = x.transpose(0, 1).reshape(16, -1)
        scale = torch.rsqrt(rows.var(1, correction=0) + 1e-5)
        shift = bias - rows.mean(1) * scale
        folded = torch.relu(x * scale[:, None, None] + shift[:, None, None])
        limit = bounds(measure(own, exact), torch.float32, "fp32")
        assert within(measure(folded, exact), limit)
