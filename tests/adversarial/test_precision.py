"""The policy's precision decides what arithmetic is honest: the candidates are cheats of D15."""

from __future__ import annotations

import pytest

from reward_service.schemas import Reason
from tests.adversarial.fixture import Fixture, fixtures

DOWNGRADES = {fixture.name: fixture for fixture in fixtures() if fixture.catalogue == "D15"}
HONEST_UNDER = {
    "fp32": set(),
    "tf32": {"d15_tf32_product", "d15_fp16_product"},  # of one mantissa
    "fp16": {"d15_tf32_product", "d15_fp16_product"},
    "bf16": {"d15_tf32_product", "d15_fp16_product", "d15_bf16_product"},
}
PRODUCTS = sorted(HONEST_UNDER["bf16"])


@pytest.mark.parametrize("arithmetic", PRODUCTS)
@pytest.mark.parametrize("precision", HONEST_UNDER)
def test_arithmetic_below_the_policys_precision_is_refused_for_that(judge, precision, arithmetic):
    fixture = DOWNGRADES[arithmetic]
    failure = failure_of(judge, fixture, "cheat", precision)
    if arithmetic in HONEST_UNDER[precision]:
        assert failure is None, failure
    else:
        assert failure is not None
        assert failure.reason is Reason.PRECISION, failure


def failure_of(judge, fixture: Fixture, which, precision):
    """What is wrong with a candidate, as far as correctness goes."""
    judgement = judge(
        fixture.problem_source(),
        fixture.source(which, "cpu"),
        precision=precision,
        stop_after="correctness",
    )
    return judgement.failure


@pytest.mark.parametrize("precision", HONEST_UNDER)
def test_fp32_is_honest_under_every_precision(judge, precision):
    for name in ("d15_bf16_product", "d15_tf32_product"):
        assert failure_of(judge, DOWNGRADES[name], "twin", precision) is None


def test_what_a_sum_averages_away_is_not_called_weak(judge):
    fixture = DOWNGRADES["d15_tf32_sum"]
    judgement = judge(
        fixture.problem_source(), fixture.source("twin", "cpu"), stop_after="correctness"
    )
    controls = next(c for c in judgement.checks if c.name == "negative_controls")
    assert controls.evidence == {"passed_wrongly": []}
