"""Lets the cheats of the adversarial suite, their twins and the honest kernels meet the service.

python benchmarks/adversarial.py OUTPUT_DIRECTORY [--device cpu|cuda] [--repeat N] [--only NAME ...]
    [--time-limit SECONDS]

The weak harness is asked once for each cheat, our service `--repeat` times. `adversarial.json`
holds what each run saw, and `adversarial.md` is its table; both are written after each fixture,
so that a run that was cut short is not lost.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.provenance import provenance  # noqa: E402 - the root must be on the path first
from reward_service.build.stage import BuildStage  # noqa: E402
from reward_service.devices.detect import device_names  # noqa: E402
from reward_service.findings import Context  # noqa: E402
from reward_service.settings import Settings  # noqa: E402
from tests.adversarial.arena import Arena, Met, open_arena, planted, submission_of  # noqa: E402
from tests.adversarial.fixture import Case, Device, Fixture, Honest, Which, fixtures, honest  # noqa: E402
from tests.adversarial.judgement import not_fooled, not_held, not_honoured  # noqa: E402

WEAK_AT_ONCE = 4
"""On a GPU; on the CPU one, since they need the cores that they are timed on."""
_HEAD = (
    "| cheat | catalogue | seen | what it does | weak harness fooled | ours | twin "
    "| as expected |\n|---|---|---|---|---|---|---|---|\n"
)


def main() -> int:
    """0 if every cheat fooled the weak harness and got nothing, and every twin was correct."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--device", choices=["cpu", "cuda"])
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--time-limit", type=float, default=float("inf"), help="begin none later")
    given = parser.parse_args()
    device: Device = given.device or ("cuda" if device_names() else "cpu")
    chosen = [f for f in fixtures() if device in f.devices]
    innocent = [k for k in honest() if device in k.devices]
    if given.only:
        chosen = [f for f in chosen if any(word in f.name for word in given.only)]
        innocent = [k for k in innocent if any(word in k.name for word in given.only)]
    given.output.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    whole = {"provenance": provenance("benchmarks/adversarial.py"), "device": device}
    total = len(chosen) + len(innocent)
    deadline = time.monotonic() + given.time_limit
    for row in meetings(chosen, innocent, device, given.repeat, deadline):
        rows.append(row)
        complaints = "; ".join(row["unexpected"]) or "as expected"
        print(f"{len(rows):3} of {total} {row['fixture']:36} {complaints}", flush=True)
        write(given.output, {**whole, "repeat": given.repeat, "rows": rows})
    print(f"{len(rows)} of {total}")
    return int(len(rows) < total or any(row["unexpected"] for row in rows))


def meetings(
    chosen: Sequence[Fixture],
    innocent: Sequence[Honest],
    device: Device,
    repeat: int,
    deadline: float,
) -> Iterator[dict[str, Any]]:
    """One row a fixture, and one a kernel that only looks suspicious."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)  # the compilers' users must get to what is below
        kept = os.environ.get("REWARD_SERVICE_STATE_DIR")
        settings = Settings(
            state_dir=Path(kept) if kept else folder,
            min_isolation="standard" if os.geteuid() == 0 else "reduced",
        )
        with BuildStage(settings, progress=print):
            build_all(settings, chosen, innocent, device)
        arena = stack.enter_context(open_arena(settings, device))
        at_once = WEAK_AT_ONCE if device == "cuda" else 1
        weak = not_fooled_all(arena, chosen, at_once)
        for fixture, complaints in zip(chosen, weak, strict=True):
            if time.monotonic() > deadline:
                return
            yield meet(arena, fixture, complaints, repeat)
        for kernel in innocent:
            if time.monotonic() > deadline:
                return
            yield meet_honest(arena, kernel, repeat)


def build_all(
    settings: Settings, chosen: Sequence[Fixture], innocent: Sequence[Honest], device: Device
) -> None:
    """Build side by side, in processes, so that nothing is built between measurements."""
    print(f"building for {len(chosen) + len(innocent)} fixtures", flush=True)
    jobs: list[tuple[Case, Which]] = [(kernel, "candidate") for kernel in innocent]
    for fixture in chosen:
        if not fixture.tight:
            jobs += [(fixture, "cheat"), (fixture, "twin")]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), context) as pool:
        list(pool.map(build, itertools.repeat(settings), jobs, itertools.repeat(device)))


def build(settings: Settings, job: tuple[Case, Which], device: Device) -> None:
    """Build one candidate, whatever comes of it."""
    case, which = job
    with BuildStage(settings) as stage:
        submission = submission_of(case, which, device)
        stage(submission, case.problem_source(), Context("build", time.time() + 600))


def weakly(arena: Arena, fixture: Fixture) -> list[str]:
    """Why the weak harness is not fooled."""
    with planted(fixture):
        return not_fooled(fixture, arena.fool(fixture))


def not_fooled_all(arena: Arena, chosen: Sequence[Fixture], at_once: int) -> list[list[str]]:
    """The same for all."""
    with ThreadPoolExecutor(at_once) as threads:
        return list(threads.map(lambda fixture: weakly(arena, fixture), chosen))


def meet(arena: Arena, fixture: Fixture, weak: list[str], repeat: int) -> dict[str, Any]:
    """Let a cheat and its twin meet our service."""
    row: dict[str, Any] = {
        "fixture": fixture.name,
        "catalogue": fixture.catalogue,
        "seen": fixture.seen,
        "title": fixture.title,
        "weak_harness_fooled": not weak,
        "pending": fixture.pending,
        "cheat": [],
        "twin": [],
        "unexpected": [f"weak harness: {text}" for text in weak],
    }
    for _ in range(repeat):
        with planted(fixture):
            cheat = arena.meet(fixture, "cheat")
            complaints = not_held(fixture, cheat) + arena.left_behind()
            row["unexpected"] += [] if fixture.pending else complaints
            twin = arena.meet(fixture, "twin")
            row["unexpected"] += not_honoured(twin)
        row["cheat"].append(told(cheat))
        row["twin"].append(told(twin))
    return row


def meet_honest(arena: Arena, kernel: Honest, repeat: int) -> dict[str, Any]:
    """Let a kernel that only looks suspicious meet our service."""
    row: dict[str, Any] = {"fixture": kernel.name, "title": kernel.title, "twin": []}
    row["unexpected"] = []
    for _ in range(repeat):
        met = arena.meet(kernel, "candidate")
        row["unexpected"] += not_honoured(met)
        row["twin"].append(told(met))
    return row


def told(met: Met) -> dict[str, Any]:
    """What came of one evaluation."""
    return {
        "reason": met.reason,
        "message": met.message[:200],
        "speedup_low": met.speedup_low,
        "seconds": round(met.seconds, 2),
    }


def write(folder: Path, report: dict[str, Any]) -> None:
    """The JSON, and the table of it."""
    (folder / "adversarial.json").write_text(json.dumps(report, indent=1) + "\n")
    rows = report["rows"]
    good = sum(not row["unexpected"] for row in rows)
    text = f"{len(rows)} cheats and honest kernels on {report['device']}, "
    text += f"each met {report['repeat']} times: {good} as expected.\n\n{_HEAD}"
    for row in rows:
        cells = [
            row["fixture"],
            row.get("catalogue", "honest"),
            row.get("seen", ""),
            row["title"],
            {True: "yes", False: "NO", None: ""}[row.get("weak_harness_fooled")],
            said(row.get("cheat", [])),
            said(row["twin"]),
            "yes" if not row["unexpected"] else "; ".join(row["unexpected"])[:300],
        ]
        text += "| " + " | ".join(str(c).replace("|", "\\|") for c in cells) + " |\n"
    (folder / "adversarial.md").write_text(text)


def said(met: list[dict[str, Any]]) -> str:
    """The reasons of several runs, each once."""
    return ", ".join(dict.fromkeys(one["reason"] or "correct" for one in met))


if __name__ == "__main__":
    sys.exit(main())
