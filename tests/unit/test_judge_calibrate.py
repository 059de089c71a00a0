"""A clock that is too coarse is no clock."""

from __future__ import annotations

import pytest

from reward_service.errors import DeviceError
from reward_service.judge import calibrate
from reward_service.judge.calibrate import Calibration
from reward_service.judge.statistics import NoiseFloor
from reward_service.judge.timing import Resolution

FINE = Resolution(window_s=1e-4, whole_s=2e-4)


def seen(monkeypatch: pytest.MonkeyPatch, *resolutions: Resolution) -> Calibration:
    """What comes of measurements that see these, one after the other."""
    left = list(resolutions)
    monkeypatch.setattr(
        calibrate,
        "_calibrate_once",
        lambda *_: Calibration(NoiseFloor(((1.0, 0.0),)), left.pop(0)),
    )
    return calibrate.calibrate(None, None, lambda _: None)  # type: ignore[arg-type]


def test_what_a_busy_moment_gave_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = (Resolution(window_s=4e-3, whole_s=4e-3), Resolution(window_s=1e-3, whole_s=9e-3))
    assert seen(monkeypatch, *busy, FINE).resolution == FINE


def test_on_a_host_that_stays_busy_nothing_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = Resolution(window_s=4e-3, whole_s=8e-3)
    with pytest.raises(DeviceError, match="too busy"):
        seen(monkeypatch, busy, busy, busy)
