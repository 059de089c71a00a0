"""Runs the tests that need a GPU, the demo and the examples, and writes what came of them.

python benchmarks/gpu_run.py OUTPUT_DIRECTORY [--only tests|demo|examples]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.provenance import provenance  # noqa: E402 - the root must be on the path first

PARTS = ["tests", "demo", "examples"]


def main() -> int:
    """0 if every test passed and every outcome was the expected one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--only", choices=PARTS)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    # What the tests build, the demo does not build again.
    with tempfile.TemporaryDirectory() as shared:
        for name in ("REWARD_SERVICE_STATE_DIR", "REWARD_SERVICE_TEST_STATE_DIR"):
            os.environ[name] = shared
        return run(arguments)


def run(arguments: argparse.Namespace) -> int:
    """The parts that were asked for."""
    wanted = [arguments.only] if arguments.only else PARTS
    code = 0
    if "tests" in wanted:
        code |= run_tests(arguments.output / "gpu_tests.json")
    if "demo" in wanted:
        code |= run_demo(arguments.output / "demo.json")
    if "examples" in wanted:
        output = str(arguments.output / "examples_cuda.json")
        command = [sys.executable, "benchmarks/examples.py", "cuda", output]
        code |= subprocess.run(command, cwd=ROOT, check=False).returncode
    return code


def run_tests(output: Path) -> int:
    """pytest on tests/gpu; one row a test."""
    report = output.with_suffix(".xml")
    command = [sys.executable, "-m", "pytest", "tests/gpu", "-rA", f"--junitxml={report}"]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    rows = [row(case) for case in ElementTree.parse(report).iter("testcase")]
    report.unlink()
    write(output, "benchmarks/gpu_run.py --only tests", {"exit_status": code, "tests": rows})
    return code


def row(case: ElementTree.Element) -> dict[str, Any]:
    """One test's outcome from its JUnit element."""
    outcome, message = "passed", ""
    for child in case:
        if child.tag in ("failure", "error", "skipped"):
            outcome = child.tag
            message = (child.get("message") or "")[:500]
    return {
        "test": case.get("name"),
        "outcome": outcome,
        "seconds": float(case.get("time", 0)),
        "message": message,
    }


def run_demo(output: Path) -> int:
    """scripts/demo.py on every device there is."""
    rows = output.with_suffix(".rows.json")
    command = [sys.executable, "scripts/demo.py", "--json", str(rows)]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    write(output, "benchmarks/gpu_run.py --only demo", {"rows": json.loads(rows.read_text())})
    rows.unlink()
    return code


def write(output: Path, script: str, results: dict[str, Any]) -> None:
    """One result file with its provenance."""
    whole = {"provenance": provenance(script), **results}
    output.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
