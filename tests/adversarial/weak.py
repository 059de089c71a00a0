"""The control: a harness in the style of the common benchmarks, with their gaps.

One process and one namespace for reference and candidate, seed 42, one draw of inputs for the
check and one for the clock, `torch.allclose` at 1e-2, a timer inside of the process, and no look
at the outputs of timed calls. It must be fooled by every cheat of the suite: one that it catches
proves nothing.

Each run forks from a server that has imported torch, so that it takes a fraction of a second.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

TIMED_CALLS = 10
TRIALS = 2
SEED = 42
TOLERANCE = 1e-2


@dataclass(frozen=True)
class Seen:
    """What came of a run."""

    correct: bool
    speedup: float | None
    error: str | None = None


def run_weakly(
    problem: str, candidate: str, extensions: Mapping[str, str], device: str, limit_s: float
) -> Seen | None:
    """Run the weak harness in a process of its own; None: it died, or was silent for `limit_s`."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "tests.adversarial.weak"])
    ours, theirs = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as folder:
        arguments = (theirs, problem, candidate, dict(extensions), device, folder)
        process = context.Process(target=_serve, args=arguments)
        process.start()
        theirs.close()
        try:
            return ours.recv() if ours.poll(limit_s) else None
        except EOFError:
            return None
        finally:
            process.kill()
            process.join()
            ours.close()


def _serve(
    pipe: Connection,
    problem: str,
    candidate: str,
    extensions: dict[str, str],
    device: str,
    folder: str,
) -> None:
    os.chdir(folder)
    log = os.open("log", os.O_WRONLY | os.O_CREAT)
    for fd in (1, 2):  # what a candidate prints is no matter of the tests
        os.dup2(log, fd)
    try:
        seen = evaluate(problem, candidate, extensions, device)
    except Exception as error:  # noqa: BLE001 - foreign code may raise anything
        seen = Seen(False, None, f"{type(error).__name__}: {error}"[:1_000])
    pipe.send(seen)


def evaluate(problem: str, candidate: str, extensions: dict[str, str], device: str) -> Seen:
    """Check and time `candidate` against `problem`, all in this process."""
    import torch

    from reward_service.runner.program import answer_extension_calls

    answer_extension_calls(extensions)
    os.environ["HARNESS_SEED"] = str(SEED)  # as kernelbot's eval.py was told its seed
    place = torch.device(device)
    names: dict[str, Any] = {"__name__": "candidate", "__file__": "candidate.py"}
    Path("candidate.py").write_text(candidate)
    Path("problem.py").write_text(problem)  # as KernelBench-Hard leaves its reference.py
    exec(compile(problem, "problem.py", "exec"), names)
    exec(compile(candidate, "candidate.py", "exec"), names)
    init = names["get_init_inputs"]()
    torch.manual_seed(SEED)
    reference = names["Model"](*init).to(place)
    torch.manual_seed(SEED)
    model = names["ModelNew"](*init).to(place)
    torch.manual_seed(SEED)
    with torch.no_grad():
        for _ in range(TRIALS):
            inputs = [_moved(x, place) for x in names["get_inputs"]()]
            output = reference(*inputs)
            expected = _copied(output)
            torch.save(expected, "expected.pt")  # METR's kernel task had its answers on disk
            del output  # so that its memory is free, as in Sakana's first harness
            got = model(*inputs)
            _wait(place)
            if not _alike(got, expected):
                return Seen(False, None, "outputs differ")
        inputs = [_moved(x, place) for x in names["get_inputs"]()]
        return Seen(True, _seconds(reference, inputs, place) / _seconds(model, inputs, place))


def _seconds(model: Any, inputs: list[Any], place: Any) -> float:
    import torch

    for _ in range(3):
        model(*inputs)
    total = 0.0
    for _ in range(TIMED_CALLS):
        if place.type == "cuda":
            torch.cuda.synchronize()
            start = torch.cuda.Event(enable_timing=True)
            end = torch.cuda.Event(enable_timing=True)
            start.record()
            model(*inputs)
            end.record()
            torch.cuda.synchronize()
            total += start.elapsed_time(end) / 1e3
        else:
            begun = time.perf_counter()
            model(*inputs)
            total += time.perf_counter() - begun
    return max(total, 1e-9) / TIMED_CALLS


def _alike(got: Any, expected: Any) -> bool:
    import torch

    if isinstance(expected, (tuple, list)):
        return all(_alike(a, b) for a, b in zip(got, expected, strict=True))
    return bool(torch.allclose(got.to(expected.dtype), expected, atol=TOLERANCE, rtol=TOLERANCE))


def _copied(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_copied(item) for item in value]
    return value.clone()


def _moved(value: Any, place: Any) -> Any:
    import torch

    return value.to(place) if isinstance(value, torch.Tensor) else value


def _wait(place: Any) -> None:
    import torch

    if place.type == "cuda":
        torch.cuda.synchronize()


def _main() -> None:
    """`python -m tests.adversarial.weak PROBLEM CANDIDATE [cpu|cuda]`, for trying a cheat."""
    with contextlib.suppress(IndexError):
        problem, candidate, *device = sys.argv[1:]
        texts = [Path(p).read_text() for p in (problem, candidate)]
        print(run_weakly(*texts, {}, *(device or ["cpu"]), limit_s=30))


if __name__ == "__main__":
    _main()
