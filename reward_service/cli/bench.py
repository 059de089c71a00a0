"""`reward-service bench`: what this machine can do a second."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from reward_service.bench.build import (
    PERCENTILES,
    Result,
    Start,
    measure,
    warm_up,
)
from reward_service.bench.variants import KINDS, Device, Signatures, variants
from reward_service.cli.common import load_settings, require_state_dir
from reward_service.devices.detect import device_names

EXIT_NOT_ALL_BUILT = 1
FAILURES_SHOWN = 3
DEVICES: dict[str, Device] = {"cpu": "cpu", "cuda": "cuda"}

bench = typer.Typer(
    help="Measure what this machine can do.", no_args_is_help=True, pretty_exceptions_enable=False
)


@bench.callback()
def _bench() -> None:
    """Measure what this machine can do."""


@bench.command()
def build(
    count: Annotated[
        int | None, typer.Option(min=1, help="Builds; by default four for each builder.")
    ] = None,
    builders: Annotated[
        int | None, typer.Option(min=1, help="Builder processes; by default one for each core.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="cpu or cuda; by default cuda where there is a GPU.")
    ] = None,
    unseen_signatures: Annotated[
        bool, typer.Option("--unseen-signatures", help="A signature of its own for each.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")] = False,
    accept_reduced_isolation: Annotated[
        bool, typer.Option(help="Build although compilers run under your own user.")
    ] = False,
) -> None:
    """Build unseen candidates, several at once, and print builds/s, latency, paths and memory.

    Exit status: 0 if all were built, 1 if some were not, 2 if the service failed, 3 bad usage.
    """
    chosen = _device(device)
    signatures: Signatures = "unseen" if unseen_signatures else "seen"
    settings = load_settings(min_isolation="reduced" if accept_reduced_isolation else None)
    require_state_dir(settings)
    workers = builders or len(os.sched_getaffinity(0))
    sources = variants(chosen, count or 4 * workers, signatures)
    with Console(stderr=True).status("") as status:
        start, first = warm_up(settings, variants(chosen, KINDS, "seen"), status.update)
        result = measure(settings, sources, workers, status.update)
    failures = first.failures() + result.failures()
    if as_json:
        report = {
            "device": chosen,
            "signatures": signatures,
            **result.as_dict(),
            **asdict(start),
        }
        typer.echo(json.dumps(report, indent=2))
    else:
        Console().print(_table(chosen, signatures, start, result))
    for failure in failures[:FAILURES_SHOWN]:
        typer.echo(f"not built: {failure}", err=True)
    raise typer.Exit(EXIT_NOT_ALL_BUILT if failures else 0)


def _table(
    device: Device,
    signatures: Signatures,
    start: Start,
    result: Result,
) -> Table:
    table = Table("what", "value", title=f"builds, {device}, {signatures} signatures")
    paths = ", ".join(f"{path} {count}" for path, count in result.paths().items())
    latency = " / ".join(f"{result.latency_s(p):.2f}" for p in PERCENTILES.values())
    rows = [
        ("builders", f"{result.builders}"),
        ("builds", f"{len(result.rows)} in {result.wall_s:.2f} s"),
        ("builds/s", f"{result.builds_per_s:.2f}"),
        ("latency, p50 / p95 / max", f"{latency} s"),
        ("by path", paths),
        ("memory of a build, without mapped files", _mib(result.peak_tree_bytes)),
        ("memory of its largest process, with them", _mib(result.largest_process_bytes)),
        ("precompiled headers", _headers(start)),
        ("opening the stage, first builds", f"{start.open_s:.2f} s, {start.first_builds_s:.2f} s"),
    ]
    for row in rows:
        table.add_row(*row)
    return table


def _headers(start: Start) -> str:
    sizes = [made["bytes"] for made in start.precompiled.values()]
    return ", ".join(map(_mib, sizes)) or "none"


def _mib(size: float) -> str:
    return f"{size / (1 << 20):.0f} MiB"


def _device(name: str | None) -> Device:
    if name is None:
        return "cuda" if device_names() else "cpu"
    if name not in DEVICES:
        raise typer.BadParameter("cpu or cuda", param_hint="--device")
    return DEVICES[name]
