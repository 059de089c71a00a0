"""Finds GPUs by asking the driver's own command, so that no process needs torch for it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

from reward_service.errors import NoDeviceError

_QUERY = "index,name,uuid,driver_version,memory.total,compute_cap"


@dataclass(frozen=True)
class Gpu:
    """One GPU as the driver lists it."""

    index: int
    name: str
    uuid: str
    driver: str
    memory_bytes: int
    compute_capability: str

    @property
    def device_class(self) -> str:
        """Its device class, such as `h200`."""
        return device_class(self.name)


def gpus() -> list[Gpu]:
    """The GPUs of this host; empty where there is no driver."""
    command = ["nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return []
    return parse(done.stdout) if done.returncode == 0 else []


def parse(told: str) -> list[Gpu]:
    """The GPUs in the driver's answer; lines of another form are passed over."""
    found = []
    for line in told.splitlines():
        parts = [part.strip() for part in line.split(",")]
        if len(parts) == 6 and parts[0].isdigit() and parts[4].isdigit():  # memory may be [N/A]
            index, name, uuid, driver, memory, capability = parts
            found.append(Gpu(int(index), name, uuid, driver, int(memory) << 20, capability))
    return found


def gpu_of(device: str) -> Gpu:
    """The GPU that a device name such as `cuda:0` means."""
    index = int(device.partition(":")[2] or 0)
    for gpu in gpus():
        if gpu.index == index:
            return gpu
    raise NoDeviceError(f"this host has no GPU {index}; `reward-service doctor` lists what it has")


def device_names() -> list[str]:
    """Names of the CUDA devices: `cuda:0`, `cuda:1`, ..."""
    return [f"cuda:{gpu.index}" for gpu in gpus()]


def device_class(name: str) -> str:
    """The class of a GPU from its product name: `NVIDIA H200` -> `h200`."""
    words = [word for word in name.lower().split() if word not in ("nvidia", "tesla", "geforce")]
    return "-".join(words)[:32] or "gpu"
