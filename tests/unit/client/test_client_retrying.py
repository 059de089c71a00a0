"""The pauses between tries."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer_client.retrying import Backoff, RetryPolicy, retry_after_s

POLICY = RetryPolicy(first_s=0.5, longest_s=4.0)


def test_the_bound_of_a_pause_doubles_up_to_the_longest() -> None:
    backoff = Backoff(POLICY, draw=lambda low, high: high)
    assert [backoff.pause_s() for _ in range(6)] == [0.5, 1.0, 2.0, 4.0, 4.0, 4.0]


@given(tries=st.integers(0, 5_000), at_least=st.floats(0, 100))
def test_a_pause_is_drawn_between_nothing_and_its_bound(tries: int, at_least: float) -> None:
    backoff = Backoff(POLICY)
    backoff.tries = tries
    assert at_least <= backoff.pause_s(at_least) <= at_least + POLICY.longest_s


def test_a_pause_does_not_touch_the_trainers_random_numbers() -> None:
    before = random.getstate()
    Backoff(POLICY).pause_s()
    assert random.getstate() == before


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, 0.0), ("3", 3.0), (" 120 ", 120.0), ("", 0.0), ("soon", 0.0), ("-1", 0.0), ("²", 0.0)],
)
def test_retry_after_is_a_number_or_nothing(header: str | None, seconds: float) -> None:
    assert retry_after_s(header) == seconds


@pytest.mark.parametrize(("ahead_s", "at_least"), [(60, 58.0), (-60, 0.0)])
def test_retry_after_is_a_date(ahead_s: float, at_least: float) -> None:
    header = format_datetime(datetime.now(UTC) + timedelta(seconds=ahead_s), usegmt=True)
    assert at_least <= retry_after_s(header) <= max(ahead_s, 0)


@given(st.text(max_size=40))
def test_any_retry_after_is_a_number_of_seconds(header: str) -> None:
    assert retry_after_s(header) >= 0
