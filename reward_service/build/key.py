"""What an artifact is found by: everything that can change the module, and nothing else."""

from __future__ import annotations

import hashlib
import json
import platform
from pathlib import Path

from reward_service.build.flags import Flags
from reward_service.build.toolchain import Toolchain
from reward_service.formats.extension_call import ExtensionCall

BUILD_VERSION = 3
"""Raised whenever the build of the same call with the same tools would come out different."""


def artifact_key(
    call: ExtensionCall, flags: Flags, arch: str, toolchain: Toolchain, split: str | None = None
) -> str:
    """Hex SHA-256 of the call, the flags that are left of it, the target and the tools; `split` is
    the identity of the split rung where the ladder has it."""
    cuda = call.with_cuda
    parts = {
        "version": BUILD_VERSION,
        "split": split,
        "call": call.key,
        "flags": [flags.cxx, flags.nvcc, flags.link],
        "arch": arch if cuda else None,
        "torch": toolchain.torch,
        "cuda": toolchain.torch_cuda,
        "compilers": toolchain.describe(cuda=cuda),
        "standard": toolchain.standard,
        "links_cuda": toolchain.links_cuda if cuda else None,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpu": _cpu() if flags.for_this_cpu else None,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _cpu() -> str:
    """The instructions of this machine, which `-march=native` builds for."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith(("flags", "Features")):
            return line.partition(":")[2].strip()
    return platform.processor()
