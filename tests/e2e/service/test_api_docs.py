"""The calls of docs/api.md do what they say."""

from __future__ import annotations

import re
import subprocess

import pytest
from service_harness import ROOT

BLOCKS = re.findall(r"```sh\n(.*?)```", (ROOT / "docs/api.md").read_text(), re.DOTALL)
MARK = "@@next@@"


@pytest.fixture(scope="module")
def printed(api, tmp_path_factory):
    """What each block prints, run one after the other as a reader would."""
    script = f"\necho {MARK}\n".join(BLOCKS)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        env={"URL": api.url, "PATH": "/usr/local/bin:/usr/bin:/bin"},
        cwd=tmp_path_factory.mktemp("docs"),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr + done.stdout[-2000:]
    return done.stdout.split(MARK)


def test_every_call_is_answered(printed):
    assert len(printed) == len(BLOCKS) >= 9
    assert all(text.strip() for text in printed)


def test_a_verdict_comes_for_one_and_for_each_of_many(printed):
    assert '"outcome":"correct"' in printed[0]
    assert printed[4].count('"outcome":"correct"') == 2
    assert "event: done" in printed[2]


def test_every_route_is_shown(api):
    paths = api.app.openapi()["paths"]
    text = re.sub(r"\$(ID|BATCH)\b", "{id}", "".join(BLOCKS))
    assert [path for path in paths if f"$URL{path}" not in text] == []
