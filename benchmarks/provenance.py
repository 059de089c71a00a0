"""Where a result comes from: machine, versions, commit and date, for the files in `results/`."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from reward_service import __version__
from reward_service.devices.detect import gpus
from reward_service.verdicts import harness_hash


def provenance(script: str) -> dict[str, Any]:
    """What `script` ran on, and when."""
    import torch

    return {
        "script": script,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "service_version": __version__,
        "harness_hash": harness_hash(),
        "commit": _commit(),
        "cores": len(os.sched_getaffinity(0)),
        "cpu": _cpu(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "gpus": [{"name": gpu.name, "driver": gpu.driver} for gpu in gpus()],
    }


def _commit() -> str | None:
    """The commit, where the code lies in a checkout."""
    command = ["git", "rev-parse", "--verify", "--quiet", "HEAD"]
    try:
        done = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return None
    return done.stdout.strip() or None


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()
