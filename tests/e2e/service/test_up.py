"""`up`: everything in one command, and nothing left of it afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from service_harness import FAKES, PYTHONPATH, ROOT, eventually, post, start, submission


class Up:
    """`up` around fake stages, with a temporary directory of its own."""

    def __init__(self, directory: Path, **env: str) -> None:
        self.directory = directory
        clean = {k: v for k, v in os.environ.items() if k != "REDIS_URL"}
        given = {"REWARD_SERVICE_PORT": "0", "REWARD_SERVICE_LEASE_S": "1", **env}
        with (directory / "stderr").open("w") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, str(FAKES), "up", str(directory)],
                env={**clean, **given, "PYTHONPATH": PYTHONPATH, "TMPDIR": str(directory)},
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )

    def lines(self) -> list[str]:
        """What it printed, up to and with the URL."""
        assert self.process.stdout is not None
        lines: list[str] = []
        while not lines or not lines[-1].startswith("api "):
            line = self.process.stdout.readline()
            assert line, (self.directory / "stderr").read_text()
            lines.append(line.strip())
        return lines

    def processes(self) -> list[tuple[int, str]]:
        """Process ids and command lines that name the directory."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                except OSError:  # it has gone since
                    continue
                if str(self.directory) in command:
                    found.append((int(entry.name), command))
        return found

    def left(self) -> list[object]:
        """What there is of it: processes and directories of the embedded server."""
        return [*self.processes(), *self.directory.glob("reward-service-*")]


@pytest.fixture
def directory() -> Iterator[Path]:
    """Short enough for a socket's path, which pytest's own are not always."""
    with tempfile.TemporaryDirectory(prefix="up-") as name:
        yield Path(name)


@pytest.fixture
def up(directory: Path) -> Iterator[Up]:
    up = Up(directory)
    yield up
    _end(up)


def _end(up: Up) -> None:
    if up.process.poll() is None:
        up.process.kill()
    up.process.wait()
    assert up.process.stdout is not None
    up.process.stdout.close()
    eventually(lambda: not up.left(), f"an end of {up.left()}")


def _ready(url: str) -> None:
    eventually(lambda: httpx.get(f"{url}/readyz").status_code == 200, "the service to be ready")


def _child(up: Up, part: str) -> int:
    """Process id of a child that lives, or 0."""
    wanted = f"{FAKES} {part} {up.directory}"
    return next((pid for pid, command in up.processes() if wanted in command), 0)


def test_it_serves_restarts_a_dead_child_and_leaves_nothing(up: Up) -> None:
    *parts, last = up.lines()
    assert parts == ["valkey     embedded; what it holds ends with it", "builder", "worker"]
    url = last.split()[-1]
    _ready(url)
    directory = next(up.directory.glob("reward-service-*"))
    assert directory.stat().st_mode & 0o777 == 0o700
    with httpx.Client(base_url=url, timeout=60) as client:
        assert post(client, submission("one")).json()["outcome"] == "correct"
        first = _child(up, "worker")
        os.kill(first, signal.SIGKILL)
        got = post(client, submission("two"))
        assert got.json()["outcome"] == "correct"
        assert _child(up, "worker") not in (0, first)
    up.process.send_signal(signal.SIGTERM)
    assert up.process.wait(timeout=30) == 0
    eventually(lambda: not up.left(), f"an end of {up.left()}")
    assert "Traceback" not in (up.directory / "stderr").read_text()


def test_killed_outright_it_takes_everything_along(up: Up) -> None:
    url = up.lines()[-1].split()[-1]
    _ready(url)
    with httpx.Client(base_url=url) as client:
        start(client, submission("in hand", judge=[["wall", "hand"]]))
    eventually((up.directory / "hand.entered").exists, "the job to be in hand")
    up.process.kill()
    up.process.wait()
    (up.directory / "hand.open").touch()
    eventually(lambda: not up.left(), f"an end of {up.left()}")


def test_a_child_that_cannot_run_here_ends_it_with_status_3(directory: Path) -> None:
    up = Up(directory, PARTS="builder lacking")
    assert up.process.wait(timeout=30) == 3
    assert "lacking cannot run here" in (directory / "stderr").read_text()
    _end(up)


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"REWARD_SERVICE_HOST": "0.0.0.0"}, "set REWARD_SERVICE_TOKEN"),
        ({"REWARD_SERVICE_HOST": "192.0.2.1"}, "cannot listen on 192.0.2.1"),
        ({"REWARD_SERVICE_LEASE_S": "soon"}, "REWARD_SERVICE_LEASE_S is wrong"),
        ({"TMPDIR": "/tmp/" + "x" * 100}, "TMPDIR"),
    ],
)
def test_what_it_lacks_it_says_in_one_line(env: dict[str, str], said: str) -> None:
    clean = {k: v for k, v in os.environ.items() if k != "REDIS_URL"}
    directory = Path(env.get("TMPDIR", "/tmp"))
    directory.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "reward_service.cli", "up", "--cpu", "--port", "0"]
    ended = subprocess.run(
        command,
        env={**clean, "PYTHONPATH": PYTHONPATH, **env},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
    )
    if "TMPDIR" in env:
        directory.rmdir()
    assert ended.returncode == 3
    assert said in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
