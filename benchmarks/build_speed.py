"""Builds of unseen candidates: torch's own `load_inline` beside our build stage, on one machine.

python benchmarks/build_speed.py OUTPUT.json [--cpu] [--count N] [--stock-count N] [--limit SECONDS]

Both get programs of the same kinds, each with a constant of its own. torch's builds run in fresh
processes with a fresh TORCH_EXTENSIONS_DIR; their seconds are those of the call, without the
import of torch. Ours run in a fresh state directory. One candidate is built by both, and its
outputs must be equal. What is not reached within the limit is missing from the output.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.provenance import provenance  # noqa: E402 - the root must be on the path first
from reward_service.bench.build import measure, warm_up  # noqa: E402
from reward_service.bench.builders import build_once  # noqa: E402
from reward_service.bench.memory import MemoryWatch  # noqa: E402
from reward_service.bench.variants import KINDS, Device, Signatures, variants  # noqa: E402
from reward_service.build.stage import BuildStage  # noqa: E402
from reward_service.build.store import open_store  # noqa: E402
from reward_service.devices.detect import device_names  # noqa: E402
from reward_service.findings import Finding  # noqa: E402
from reward_service.settings import Settings  # noqa: E402

ALONE = 5
LOAD_ONCE = str(ROOT / "benchmarks" / "load_once.py")


def main() -> int:
    """0 if everything was built and measured within the limit, and the outputs were equal."""
    cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--cpu", action="store_true", help="C++ programs, GPU or not")
    parser.add_argument("--count", type=int, default=4 * cores, help="our builds at once")
    parser.add_argument("--stock-count", type=int, default=cores, help="torch's builds at once")
    parser.add_argument("--limit", type=int, default=900, help="seconds for everything")
    given = parser.parse_args()
    device: Device = "cpu" if given.cpu or not device_names() else "cuda"
    report: dict[str, Any] = {
        "provenance": provenance("benchmarks/build_speed.py"),
        "device": device,
        "cores": cores,
        "complete": False,
    }
    try:
        with limited(given.limit), tempfile.TemporaryDirectory() as folder:
            run(report, Path(folder), device, cores, given.count, given.stock_count)
            report["complete"] = True
    except TimeoutError as error:
        say(str(error))
    finally:
        given.output.write_text(json.dumps(report, indent=1) + "\n")
    failed = any(part.get("failed") for part in report.get("ours", {}).values())
    return int(failed or not report["complete"] or not report["same_output"])


def run(
    report: dict[str, Any], folder: Path, device: Device, cores: int, count: int, stock_count: int
) -> None:
    """Fills the report, part by part."""
    folder.chmod(0o755)  # the compilers' users must get to what is below
    settings = Settings(
        state_dir=folder / "state",
        min_isolation="standard" if os.geteuid() == 0 else "reduced",
        artifact_store="directory",
    )
    ours: dict[str, Any] = {}
    stock: dict[str, Any] = {}
    report |= {"ours": ours, "stock": stock, "ratios": {}}
    for name in ("first_start", "second_start"):  # what the first took longer is made only once
        start, built = warm_up(settings, variants(device, KINDS, "seen"), say)
        ours[name] = {**asdict(start), "failed": len(built.failures()), "paths": built.paths()}

    def take(name: str, signatures: Signatures, builds: int, builders: int) -> None:
        result = measure(settings, variants(device, builds, signatures), builders, say)
        ours[name] = result.as_dict()
        if result.failures():
            ours[name]["first_failure"] = result.failures()[0]
        say(f"ours, {name}: {result.latency_s(50):.2f} s, {result.builds_per_s:.2f} builds/s")

    take("alone_warm_binding", "seen", ALONE, 1)
    take("alone_cold_binding", "unseen", ALONE, 1)
    take("at_once_warm_binding", "seen", cores, cores)
    take("sustained_warm_binding", "seen", count, cores)
    take("sustained_cold_binding", "unseen", count, cores)

    (source,) = variants(device, 1, "seen")
    stock["alone"] = torch_builds(folder / "alone", device, [source])
    report["same_output"] = stock["alone"]["outputs"] == [our_output(settings, device, source)]
    if stock_count:
        sources = variants(device, stock_count, "seen")
        stock["at_once"] = torch_builds(folder / "at_once", device, sources)
    report["ratios"] = ratios(ours, stock)
    say(json.dumps(report["ratios"], indent=1))


def torch_builds(folder: Path, device: Device, sources: Sequence[str]) -> dict[str, Any]:
    """torch's own builds, all at once, each in a process and a directory of its own."""
    started = []
    try:
        for number, source in enumerate(sources):
            own = folder / str(number)
            own.mkdir(parents=True)
            (own / "candidate.py").write_text(source)
            started.append(load_once(own, device))
        with MemoryWatch([process.pid for process in started]) as memory:
            for process in started:
                if process.wait() != 0:
                    raise RuntimeError("torch's own build failed; its reason is on stderr")
    finally:
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    told = [json.loads(path.read_text()) for path in sorted(folder.glob("*/told.json"))]
    wall_s = max(one["ended"] for one in told) - min(one["begun"] for one in told)
    seconds = [one["ended"] - one["begun"] for one in told]
    say(f"torch, {folder.name}: {statistics.median(seconds):.2f} s, {wall_s:.2f} s for all")
    return {
        "builds": len(told),
        "wall_s": wall_s,
        "builds_per_s": len(told) / wall_s,
        "latency_s": {"p50": statistics.median(seconds), "max": max(seconds)},
        "peak_tree_bytes": memory.peak_bytes,
        "largest_process_bytes": max(one["largest_process_bytes"] for one in told),
        "outputs": [one["output"] for one in told],
    }


def load_once(own: Path, device: Device, *module: str) -> subprocess.Popen[bytes]:
    """One candidate in a process and a session of its own; it writes `told.json`."""
    command = [sys.executable, LOAD_ONCE, str(own / "candidate.py"), str(own / "told.json"), device]
    env = {**os.environ, "TORCH_EXTENSIONS_DIR": str(own / "extensions")}
    # What load_inline says goes to stderr, so that stdout stays ours.
    return subprocess.Popen([*command, *module], env=env, stdout=2, start_new_session=True)


def our_output(settings: Settings, device: Device, source: str) -> str:
    """What the candidate computes with a module that we built."""
    with BuildStage(settings) as stage:
        made = build_once(stage, source).made
    if isinstance(made, Finding):
        return f"{made.reason}: {made.message}"
    (key,) = made.artifacts.values()
    module = open_store(settings).get(key)
    own = settings.state_dir / "output"
    own.mkdir()
    (own / "candidate.py").write_text(source)
    if load_once(own, device, str(module)).wait() != 0:
        return "our module failed"
    return str(json.loads((own / "told.json").read_text())["output"])


def ratios(ours: dict[str, Any], stock: dict[str, Any]) -> dict[str, float]:
    """How many times as fast as torch's own builds."""
    alone = stock["alone"]["latency_s"]["p50"]
    found = {
        f"latency_{binding}_binding": alone / ours[f"alone_{binding}_binding"]["latency_s"]["p50"]
        for binding in ("warm", "cold")
    }
    if "at_once" in stock:
        rate = stock["at_once"]["builds_per_s"]
        for binding in ("warm", "cold"):
            mine = ours[f"sustained_{binding}_binding"]["builds_per_s"]
            found[f"throughput_{binding}_binding"] = mine / rate
    return found


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raises TimeoutError inside the block once the seconds are over."""

    def over(*_: object) -> None:
        raise TimeoutError(f"the limit of {seconds} s is over")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def say(text: str) -> None:
    """Progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
