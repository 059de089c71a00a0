"""Starts the service, posts one candidate of every kind over HTTP, and prints what came of each.

On a machine without a GPU the C++ candidates are judged on the CPU; with one, the CUDA ones too.

    scripts/demo [--json FILE] [--device cpu|cuda|all]
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
from rich.console import Console
from rich.live import Live
from rich.table import Table

from reward_service.cli.show import speedup_text
from reward_service.devices.detect import device_names
from reward_service.schemas import Verdict

ROOT = Path(__file__).resolve().parent.parent
PROBLEM = "level2/hardswish_chain"
KINDS = {
    "fast": "correct",
    "slow": "correct",
    "wrong": "incorrect",
    "broken": "compile_error",
    "crash": "runtime_error",
    "hang": "timeout",
    "cached": "incorrect",
    "plain": "rejected",
}
"""What each kind of candidate should come to."""


def main() -> int:
    """Run the demo; 0 if every outcome was the expected one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="also write the verdicts to this file")
    parser.add_argument("--device", choices=["cpu", "cuda", "all"], default="all")
    arguments = parser.parse_args()
    console = Console()
    kinds = [kind for kind in ("cpu", "cuda") if arguments.device in (kind, "all")]
    if "cuda" in kinds and not device_names():
        if arguments.device == "cuda":
            console.print("[red]no GPU found; `reward-service doctor` says what is missing[/]")
            return 3
        kinds.remove("cuda")
    rows: list[dict[str, object]] = []
    for kind in kinds:
        with service(kind, console) as url:
            rows += post_all(url, kind, console)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    wrong = [row for row in rows if row["outcome"] != row["expected"]]
    for row in wrong:
        console.print(f"[red]{row['device']} {row['kind']}: expected {row['expected']}[/]")
    return 1 if wrong else 0


@contextlib.contextmanager
def service(kind: str, console: Console) -> Iterator[str]:
    """The whole service on a free port, for the CPU or for the GPUs; yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "reward_service.cli", "up", "--port", str(port)]
    if kind == "cpu":
        command.append("--cpu")
    if os.geteuid() != 0:
        console.print("[yellow]not root: candidates run as you (isolation: reduced)[/]")
        command.append("--accept-reduced-isolation")
    url = f"http://127.0.0.1:{port}"
    log = ROOT / ".demo.log"
    with (
        log.open("w") as output,
        subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # a terminal's Ctrl-C is for us; we end it in good order
        ) as process,
    ):
        try:
            with console.status(f"starting the service ({kind}); its log is {log.name}"):
                wait_until_ready(url, process)
            console.print(f"the service is at {url}")
            yield url
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)


def wait_until_ready(url: str, process: subprocess.Popen[bytes], limit_s: float = 300) -> None:
    """Wait until a worker and a builder are there."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit("the service ended; see .demo.log")
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{url}/readyz").status_code == 200:
                return
        time.sleep(0.2)
    raise SystemExit(f"the service was not ready within {limit_s:.0f} s; see .demo.log")


def post_all(url: str, kind: str, console: Console) -> list[dict[str, object]]:
    """Post one candidate of each kind side by side; their rows, in order."""
    rows: dict[str, dict[str, object]] = {}
    with (
        Live(table(kind, rows), console=console, refresh_per_second=4) as live,
        concurrent.futures.ThreadPoolExecutor(len(KINDS)) as pool,
    ):
        futures = {pool.submit(post, url, kind, name): name for name in KINDS}
        for future in concurrent.futures.as_completed(futures):
            rows[futures[future]] = future.result()
            live.update(table(kind, rows))
    return [rows[name] for name in KINDS]


def post(url: str, kind: str, name: str) -> dict[str, object]:
    """One POST to `/evaluate`."""
    file = ROOT / "examples" / "demo" / ("plain.py" if name == "plain" else f"{name}_{kind}.py")
    submission = {
        "problem": {"name": PROBLEM},
        "candidate": {"source": file.read_text()},
        "policy": {"device": "cpu" if kind == "cpu" else "any"},
        "deadline_s": 600,
    }
    start = time.perf_counter()
    answer = httpx.post(f"{url}/evaluate", json=submission, timeout=660)
    seconds = time.perf_counter() - start
    if answer.status_code != 200:
        raise SystemExit(f"{name}: {answer.status_code} {answer.text}")
    verdict = Verdict.model_validate(answer.json())
    return {
        "device": kind,
        "kind": name,
        "expected": KINDS[name],
        "outcome": str(verdict.outcome),
        "seconds": round(seconds, 2),
        "verdict": verdict.model_dump(mode="json"),
    }


def table(kind: str, rows: dict[str, dict[str, object]]) -> Table:
    """What is known so far."""
    made = Table(title=f"{PROBLEM} on {kind}", box=None, pad_edge=False)
    for column in ("candidate", "outcome", "reason", "speedup [95 %]", "reward", "seconds"):
        right = column in ("reward", "seconds")
        made.add_column(column, justify="right" if right else "left", no_wrap=True)
    for name, expected in KINDS.items():
        if name not in rows:
            made.add_row(name, "[dim]...[/]")
            continue
        row = rows[name]
        verdict = Verdict.model_validate(row["verdict"])
        colour = "green" if row["outcome"] == expected else "red"
        made.add_row(
            name,
            f"[{colour}]{row['outcome']}[/]",
            str(verdict.reason or ""),
            speedup_text(verdict, digits=2),
            "" if verdict.reward is None else f"{verdict.reward:.3f}",
            f"{row['seconds']}",
        )
    return made


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted")
