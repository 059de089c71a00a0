"""The examples of `docs/client.md` run as they are, against a service at another address."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from client_service import FakeService, in_loop

DOCS = Path(__file__).parents[3] / "docs" / "client.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)


def test_there_are_examples_of_both_clients() -> None:
    assert len(EXAMPLES) == 2


@pytest.mark.parametrize(("example", "last"), [(0, "correct 1.0"), (1, "100")])
@in_loop
async def test_an_example_runs(example: int, last: str, capsys: pytest.CaptureFixture[str]) -> None:
    async with FakeService() as service:
        program = EXAMPLES[example].replace("http://localhost:8000", service.url)
        space: dict[str, Any] = {"__name__": "example"}
        await asyncio.to_thread(exec, compile(program, str(DOCS), "exec"), space)
    assert capsys.readouterr().out.splitlines()[-1] == last
