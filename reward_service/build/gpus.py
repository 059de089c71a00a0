"""The GPUs of this machine, as the driver tells without a CUDA context."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

_FIELDS = "name,compute_cap,memory.total,driver_version"


@dataclass(frozen=True)
class Gpu:
    """One GPU."""

    name: str
    compute_capability: str
    """Such as `9.0`."""
    memory_bytes: int
    driver: str


def list_gpus() -> list[Gpu]:
    """All GPUs that `nvidia-smi` shows; none where there is no driver."""
    argv = ["nvidia-smi", f"--query-gpu={_FIELDS}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return []
    return _parse(done.stdout) if done.returncode == 0 else []


def _parse(told: str) -> list[Gpu]:
    gpus = []
    for line in told.splitlines():
        parts = [part.strip() for part in line.split(",")]
        if len(parts) == 4 and parts[2].isdigit():  # memory is [N/A] on some
            gpus.append(Gpu(parts[0], parts[1], int(parts[2]) << 20, parts[3]))
    return gpus
