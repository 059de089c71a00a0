"""Builds the corpus by the ladder and by the stock rung alone, and compares what they make.

python benchmarks/build_corpus.py OUTPUT_DIRECTORY [--only NAME ...] [--device cpu|cuda]
    [--no-stock] [--jobs N] [--time-limit SECONDS] [--resume]

Every build is of a source that its store has not seen. Compared are the outcome, the device code
kernel by kernel and, where the device is there, the outputs bit by bit. The seconds are of builds
side by side on all cores; `build_speed.py` measures builds alone. `corpus.json` is written after
each program, so that a run that was cut short can be resumed; `corpus.md` is its table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.corpus import device_code  # noqa: E402 - the root must be on the path first
from benchmarks.corpus.programs import Program, programs  # noqa: E402
from benchmarks.corpus.table import table, unexpected  # noqa: E402
from benchmarks.provenance import provenance  # noqa: E402
from reward_service.build.stage import BuildStage  # noqa: E402
from reward_service.build.store import open_store  # noqa: E402
from reward_service.devices.detect import gpus  # noqa: E402
from reward_service.errors import InfrastructureError  # noqa: E402
from reward_service.findings import Context, Finding  # noqa: E402
from reward_service.schemas import Candidate, Problem, Reason, Submission  # noqa: E402
from reward_service.settings import Settings  # noqa: E402

BUILD_S = 900.0
RUN_S = 180.0
RUNS_AT_ONCE = 4
_HEADERS_AT = "REWARD_SERVICE_PRECOMPILED_DIR"
PROBLEM = "def get_init_inputs(): return []"


def main() -> int:
    """0 if all is as expected and every program was looked at."""
    arguments = parse()
    chosen = [p for p in programs() if selected(p, arguments.only)]
    arguments.output.mkdir(parents=True, exist_ok=True)
    file = arguments.output / "corpus.json"
    whole = {"provenance": provenance("benchmarks/build_corpus.py"), "device": arguments.device}
    rows = earlier(file, whole) if arguments.resume and file.exists() else {}

    def save(row: dict[str, Any]) -> None:
        rows[row["program"]] = row
        text = {**whole, "rows": [rows[name] for name in sorted(rows)]}
        file.write_text(json.dumps(text, indent=1) + "\n")
        (arguments.output / "corpus.md").write_text(table(text["rows"]))
        told = "; ".join(row["unexpected"]) or "as expected"
        print(f"{len(rows):3} {row['program']:34} {told}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        bench = Bench(Path(folder), arguments.device, stock=not arguments.no_stock)
        bench.prepare()
        todo = [p for p in chosen if p.name not in rows]
        run_all(todo, bench.look_at, save, arguments.jobs, arguments.time_limit)
    missing = [p.name for p in chosen if p.name not in rows]
    if missing:
        print(f"not run: {len(missing)}, from {missing[0]} on; go on with --resume")
    return int(bool(missing) or any(row["unexpected"] for row in rows.values()))


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--only", nargs="+", default=[], help="programs or folders")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda" if gpus() else "cpu")
    parser.add_argument("--no-stock", action="store_true", help="build by the ladder only")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--time-limit", type=float, default=float("inf"), help="begin none later")
    parser.add_argument("--resume", action="store_true", help="keep the rows of corpus.json")
    return parser.parse_args()


def selected(program: Program, only: list[str]) -> bool:
    """Whether `--only` asks for it, by its name, its folder or its file."""
    folder, _, file = program.name.partition("/")
    return not only or any(name in (program.name, folder, file) for name in only)


def earlier(file: Path, whole: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The rows of an earlier run; ends the program if another service or device made them."""
    before = json.loads(file.read_text())
    ours = (whole["device"], whole["provenance"]["harness_hash"])
    if (before["device"], before["provenance"]["harness_hash"]) != ours:
        sys.exit(f"{file} is of another device or of other code; run without --resume")
    return {row["program"]: row for row in before["rows"]}


def run_all(
    todo: list[Program],
    look_at: Callable[[Program], dict[str, Any]],
    save: Callable[[dict[str, Any]], None],
    jobs: int,
    limit_s: float,
) -> None:
    """Look at every program, `jobs` at once; begin none after `limit_s` seconds."""
    begun = time.monotonic()

    def one(program: Program) -> dict[str, Any] | None:
        return look_at(program) if time.monotonic() - begun < limit_s else None

    with ThreadPoolExecutor(jobs) as threads:
        for job in as_completed([threads.submit(one, program) for program in todo]):
            if (row := job.result()) is not None:
                save(row)


class Bench:
    """Builds, compares and runs programs; used by many threads."""

    def __init__(self, folder: Path, device: str, *, stock: bool) -> None:
        self._folder = folder
        self._device = device
        self._stock = stock
        self._running = threading.Semaphore(RUNS_AT_ONCE)

    def prepare(self) -> None:
        """What is done once on a machine, so that no build's seconds hold it."""
        with BuildStage(self._settings(split=True), progress=print) as stage:
            stage.toolchain.require(cuda=False)

    def look_at(self, program: Program) -> dict[str, Any]:
        """One row of the table."""
        row: dict[str, Any] = {
            "program": program.name,
            "title": program.title,
            "topics": program.topics,
            "expect": program.expect,
            "fails_in": program.fails_in,
        }
        row["ladder"], ours = self._build(program, split=True)
        row["stock"], theirs = self._build(program, split=False) if self._stock else (None, {})
        row["identical"], row["code"] = code(ours, theirs) if program.cuda else (None, None)
        runs = [self._run(program, modules) for modules in (ours, theirs)]
        row["runs"] = dict(zip(("ladder", "stock"), runs, strict=True))
        row["outputs_equal"] = None
        if all(run is not None and "outputs" in run for run in runs):
            row["outputs_equal"] = runs[0] == runs[1]
        row["unexpected"] = unexpected(program, row)
        return row

    def _build(self, program: Program, *, split: bool) -> tuple[dict[str, Any], dict[str, Path]]:
        """How a build went, and its modules by the keys of their calls."""
        settings = self._settings(split=split)
        submission = Submission(
            problem=Problem(source=PROBLEM), candidate=Candidate(source=program.source)
        )
        with BuildStage(settings, split=split) as stage:
            begun = time.monotonic()
            try:
                result = stage(submission, PROBLEM, Context("corpus", time.time() + BUILD_S))
            except InfrastructureError as error:
                result = Finding(Reason.INTERNAL, f"{type(error).__name__}: {error}")
            seconds = time.monotonic() - begun
        report = (result.build if isinstance(result, Finding) else result.report) or None
        told = {
            "outcome": result.reason.value if isinstance(result, Finding) else "built",
            "message": result.message if isinstance(result, Finding) else "",
            "path": report.path if report else None,
            "fallback": report.fallback if report else None,
            "seconds": round(seconds, 3),
            "warnings": () if isinstance(result, Finding) else result.warnings,
        }
        if isinstance(result, Finding):
            return told, {}
        store = open_store(settings)
        modules = {call: store.get(key) for call, key in result.artifacts.items()}
        return told, {call: path for call, path in modules.items() if path is not None}

    def _settings(self, *, split: bool) -> Settings:
        """Settings with a store of its own for each ladder."""
        return Settings(
            state_dir=self._folder / ("ladder" if split else "stock"),
            precompiled_dir=Path(os.environ.get(_HEADERS_AT) or self._folder / "precompiled"),
            min_isolation="standard" if os.geteuid() == 0 else "reduced",
        )

    def _run(self, program: Program, modules: dict[str, Path]) -> dict[str, Any] | None:
        """What the program does with the modules; None where there are none or no device."""
        if not modules or (program.cuda and self._device != "cuda"):
            return None
        script = ROOT / "benchmarks" / "corpus" / "run_program.py"
        device = "cuda" if program.cuda else "cpu"
        paths = json.dumps({call: str(path) for call, path in modules.items()})
        with self._running, tempfile.TemporaryDirectory() as folder:
            told = Path(folder) / "result.json"
            try:
                done = subprocess.run(
                    [sys.executable, str(script), str(program.path), device, paths, str(told)],
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=RUN_S,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return {"failed": "run", "error": f"still running after {RUN_S:g} s"}
            if not told.exists():
                end = done.stderr.decode(errors="replace")[-500:]
                return {"failed": "run", "error": f"status {done.returncode}: {end}"}
            result: dict[str, Any] = json.loads(told.read_text())
        return result


def code(
    ours: dict[str, Path], theirs: dict[str, Path]
) -> tuple[bool | None, dict[str, Any] | None]:
    """Whether the device code of all modules is the same, and what differs; None: not known."""
    if not ours or ours.keys() != theirs.keys():
        return None, None
    try:
        found = [device_code.compare(path, theirs[call]) for call, path in ours.items()]
    except device_code.NoToolError as error:
        return None, {"error": str(error)}
    differences = [name for comparison in found for name in comparison.differences]
    functions = sum(comparison.functions for comparison in found)
    identical = all(c.identical for c in found) if functions else None
    return identical, {"functions": functions, "differences": differences}


if __name__ == "__main__":
    sys.exit(main())
