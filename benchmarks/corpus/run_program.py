"""Runs one program of the corpus with modules that are already built, and says what came out.

python benchmarks/corpus/run_program.py PROGRAM.py DEVICE MODULES RESULT

`MODULES` is a JSON object: key of an extension call -> path of its module. The file `RESULT`
gets a JSON object: `{"outputs": [[dtype, shape, SHA-256 of the bytes], ...]}`, or
`{"failed": "load" | "run", "error": text}`. Inputs and weights come from one fixed seed.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch

from reward_service.runner.program import (
    answer_extension_calls,
    load_program,
)


def main() -> None:
    """See the module."""
    program, device, modules, told = sys.argv[1:]
    source = Path(program).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        tempfile.tempdir = folder
        result = run(source, device, json.loads(modules), Path(folder))
    Path(told).write_text(json.dumps(result))


def run(source: str, device: str, modules: dict[str, str], folder: Path) -> dict[str, Any]:
    """The outputs, or where it failed."""
    stage = "load"
    try:
        answer_extension_calls(modules)
        torch.manual_seed(0)
        program = load_program(source, "candidate", folder)
        model = program.ModelNew(*program.get_init_inputs()).to(device)
        stage = "run"
        torch.manual_seed(1)
        inputs = [moved(value, device) for value in program.get_inputs()]
        outputs = model(*inputs)
        if device == "cuda":
            torch.cuda.synchronize()
            # A launch with a wrong configuration shows only when the next launch is checked.
            torch.ones(1, device=device).add_(1)
            torch.cuda.synchronize()
        return {"outputs": digests(outputs)}
    except Exception as error:  # noqa: BLE001 - whatever the program raises is its result
        return {"failed": stage, "error": f"{type(error).__name__}: {error}"[:1000]}


def moved(value: Any, device: str) -> Any:
    """An input on its device."""
    return value.to(device) if isinstance(value, torch.Tensor) else value


def digests(value: Any) -> list[tuple[str, list[int], str]]:
    """Type, shape and digest of each tensor in an output."""
    if isinstance(value, torch.Tensor):
        content = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        digest = hashlib.sha256(content.numpy().tobytes()).hexdigest()
        return [(str(value.dtype), list(value.shape), digest)]
    if not isinstance(value, (tuple, list)) or not value:
        raise TypeError(f"an output is {type(value).__name__}, not a tensor")
    return [digest for part in value for digest in digests(part)]


if __name__ == "__main__":
    main()
