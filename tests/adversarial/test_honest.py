"""A kernel that only looks as if it cheated is `correct`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.adversarial.arena import Arena
from tests.adversarial.fixture import Device, Honest, honest
from tests.adversarial.judgement import not_honoured


def on_each_device() -> list[object]:
    return [
        pytest.param(
            kernel,
            device,
            id=f"{kernel.name}-{device}",
            marks=[pytest.mark.gpu] if device == "cuda" else [],
        )
        for kernel in honest()
        for device in kernel.devices
    ]


@pytest.mark.parametrize(("kernel", "device"), on_each_device())
def test_an_honest_kernel_is_correct_however_it_looks(
    arena_on: Callable[[Device], Arena], kernel: Honest, device: Device
) -> None:
    assert not_honoured(arena_on(device).meet(kernel, "candidate")) == []
