"""Runs `reward-service evaluate --json` on every honest example, and writes the verdicts.

python benchmarks/examples.py cpu|cuda OUTPUT.json
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.provenance import provenance  # noqa: E402 - the root must be on the path first


def main() -> int:
    """0 if every example is correct."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("device", choices=["cpu", "cuda"])
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    files = sorted((ROOT / "examples").glob(f"level*/*/{arguments.device}.py"))
    rows = [evaluate(file, arguments.device) for file in files]
    whole = {"provenance": provenance(f"benchmarks/examples.py {arguments.device}"), "rows": rows}
    arguments.output.write_text(json.dumps(whole, indent=1) + "\n")
    return int(any(row["exit_status"] for row in rows))


def evaluate(file: Path, device: str) -> dict[str, Any]:
    """One example through the command line."""
    problem = file.parent.relative_to(ROOT / "examples").as_posix()
    command = [sys.executable, "-m", "reward_service.cli", "evaluate", "--json"]
    command += ["--problem", problem, "--candidate", str(file), "--device", device]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=False)
    verdict = json.loads(done.stdout)
    speedup = verdict["speedup"]
    shown = f"{speedup['low']:.3f} to {speedup['high']:.3f}" if speedup else verdict["message"]
    print(f"{problem:28} {verdict['outcome']:10} {shown}", flush=True)
    return {"problem": problem, "exit_status": done.returncode, "verdict": verdict}


if __name__ == "__main__":
    sys.exit(main())
