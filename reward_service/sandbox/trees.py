"""What an interpreter, a compiler and CUDA read beside the system's own trees, on this machine.

Found out by whoever starts a confined process, since that itself can look at nothing any more.
"""

from __future__ import annotations

import glob
import importlib.util
import os
import sys

_WHOLE_SYSTEM = ("/", "/usr", "/usr/local")
"""Prefixes that are the system's own, of which `reach` gives only a part."""

_OF_CUDA = (
    *("/usr/local/cuda", "/usr/local/nvidia", "/proc/driver/nvidia", "/proc/devices"),
    *("/proc/modules", "/sys/module/nvidia", "/sys/module/nvidia_uvm", "/sys/bus/pci"),
)
_TREES_OF_CUDA = ("/usr/local/cuda-*", "/sys/devices/pci*")
_NODES = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-caps")
_NODE_OF_GPU = "/dev/nvidia[0-9]*"


def interpreter() -> tuple[str, ...]:
    """What running this interpreter with torch and our package reads.

    Not simply `sys.path`: where the package runs from a checkout, that lists the checkout, with
    whatever lies in it.
    """
    trees = [p for p in (sys.prefix, sys.base_prefix) if p not in _WHOLE_SYSTEM]
    trees += [p for p in sys.path if glob.glob(f"{glob.escape(p)}/*.dist-info")]
    for name in ("reward_service", "torch"):
        spec = importlib.util.find_spec(name)
        trees += (spec.submodule_search_locations or []) if spec else []
    return tuple(dict.fromkeys(trees))


def cuda() -> tuple[str, ...]:
    """What CUDA's libraries read beside the interpreter's trees."""
    told = [os.environ.get("CUDA_HOME", ""), *os.environ.get("LD_LIBRARY_PATH", "").split(":")]
    trees = [path for pattern in _TREES_OF_CUDA for path in glob.glob(pattern)]
    return (*_OF_CUDA, *trees, *(path for path in told if os.path.isabs(path)))


def gpus() -> tuple[str, ...]:
    """The device nodes that CUDA uses."""
    return (*_NODES, *glob.glob(_NODE_OF_GPU))


def parts_beside(program: str) -> list[str]:
    """The trees that a compiler reads which is installed in a prefix of its own."""
    folder = os.path.dirname(os.path.realpath(program))
    prefix = os.path.dirname(folder)
    if os.path.basename(folder) != "bin" or prefix in _WHOLE_SYSTEM:
        return []
    names = ["bin", "lib", "lib32", "lib64", "libexec", "include"]
    found = [os.path.join(prefix, name) for name in names]
    found += glob.glob(f"{glob.escape(prefix)}/*-linux-*")  # a sysroot of its own
    return [path for path in found if os.path.isdir(path)]
