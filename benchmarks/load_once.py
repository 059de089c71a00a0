"""Runs one candidate as its author would, and says how long its `load_inline` took and what the
program computes: torch's own build, or, with MODULE, a module that we built in its place.

python benchmarks/load_once.py CANDIDATE.py OUTPUT.json cpu|cuda [MODULE]
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch.utils import cpp_extension


def main() -> None:
    candidate, output, device, *module = sys.argv[1:]
    build = cpp_extension.load_inline
    timed: list[float] = []

    def load_inline(**given: Any) -> Any:
        timed.append(time.monotonic())
        made = load(Path(module[0])) if module else build(**given)
        timed.append(time.monotonic())
        return made

    setattr(cpp_extension, "load_inline", load_inline)  # noqa: B010 - its type is torch's own
    space: dict[str, Any] = {"__name__": "candidate"}
    exec(compile(Path(candidate).read_text(), candidate, "exec"), space)
    begun, ended = timed
    x = torch.linspace(-2, 2, 64 * 64).reshape(64, 64).to(device)
    y = space["ModelNew"]()(x).cpu().contiguous()
    told = {
        "begun": begun,
        "ended": ended,
        "largest_process_bytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10,
        "output": hashlib.sha256(bytes(y.untyped_storage())).hexdigest(),
    }
    Path(output).write_text(json.dumps(told))


def load(path: Path) -> Any:
    """Import a built module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
