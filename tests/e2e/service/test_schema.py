"""The service answers whatever its own description allows, and what it does not, as described."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from reward_service.api import examples

SCHEMATHESIS = Path(sys.executable).parent / "schemathesis"
NOT_CHECKED = "positive_data_acceptance"
"""No schema says which problems and rewards there are: unknown names are refused."""


def test_foreign_requests_find_nothing(api, tmp_path):
    command = [SCHEMATHESIS, "run", f"{api.url}/openapi.json", "--no-color"]
    options = ["--phases", "fuzzing", "--max-examples", "30", "--exclude-checks", NOT_CHECKED]
    done = subprocess.run(
        [*command, *options, "--request-timeout", "30"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=150,
    )
    assert done.returncode == 0, done.stdout[-4000:]


def test_its_examples_are_judged(client):
    (batch,) = examples.BATCHES.values()
    answer = client.post("/evaluate/batch", json=batch["value"])
    verdicts = answer.json()["verdicts"]
    assert [verdict["outcome"] for verdict in verdicts] == ["correct"] * 3
    # One program in three forms; only the infill's verdict also speaks of its scaffold.
    assert len({verdict["id"] for verdict in verdicts}) == 2
    assert [check["name"] for check in verdicts[2]["checks"]] == ["scaffold", "fresh"]
