"""A kernel that only looks as if it cheated is `correct`."""

from __future__ import annotations

import pytest

from tests.adversarial.arena import Arena
from tests.adversarial.fixture import Honest, honest
from tests.adversarial.judgement import not_honoured

CPU = [kernel for kernel in honest() if "cpu" in kernel.devices]


@pytest.mark.parametrize("kernel", CPU, ids=lambda kernel: kernel.name)
def test_an_honest_kernel_is_correct_however_it_looks(arena: Arena, kernel: Honest) -> None:
    assert not_honoured(arena.meet(kernel, "candidate")) == []
