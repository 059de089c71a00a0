"""The control: a harness in the style of the common benchmarks, with their gaps.

One process and one namespace for reference and candidate, seed 42, one draw of inputs for the
check and one for the clock, a tolerance of 1e-2 that one element in a hundred may miss, a timer
inside of the process, and no look at the outputs of timed calls. Errors are counted in a tensor
(as pygpubench does), the tolerance lies in a file beside the candidate (as KernelBench-Hard's),
and the verdict leaves the process pickled (flashinfer-bench) through a C stream with a nonce
(pygpubench); a process that ends with status 0 has passed. It must be fooled by every cheat of the
suite: one that it catches proves nothing.

Each run forks from a server that has imported torch, so that it takes a fraction of a second.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import multiprocessing
import os
import pickle
import secrets
import struct
import sys
import tempfile
import threading
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
MATCHED = 0.99
"""Share of the elements that must be within the tolerance, as in SOL-ExecBench."""


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
        nonce = b"nonce:" + secrets.token_hex(16).encode()
        arguments = (theirs, nonce, problem, candidate, dict(extensions), device, folder)
        process = context.Process(target=_serve, args=arguments)
        process.start()
        theirs.close()
        # Whoever sends half a verdict would hold `recv` for ever.
        watchdog = threading.Timer(limit_s, process.kill)
        watchdog.start()
        try:
            told, seen = ours.recv()
            return seen if told == nonce else None
        except (EOFError, OSError):
            process.join()
            return Seen(True, None) if process.exitcode == 0 else None
        finally:
            watchdog.cancel()
            process.kill()
            process.join()
            ours.close()


def _serve(
    pipe: Connection,
    nonce: bytes,
    problem: str,
    candidate: str,
    extensions: dict[str, str],
    device: str,
    folder: str,
) -> None:
    os.chdir(folder)
    sys.path.insert(0, folder)  # as where `python eval.py` is run
    libc = ctypes.CDLL(None)
    libc.fdopen.restype = ctypes.c_void_p
    stream = ctypes.c_void_p(libc.fdopen(pipe.fileno(), b"w"))
    log = os.open("log", os.O_WRONLY | os.O_CREAT)
    for fd in (1, 2):  # what a candidate prints is no matter of the tests
        os.dup2(log, fd)
    try:
        seen = evaluate(problem, candidate, extensions, device)
    except Exception as error:  # noqa: BLE001 - foreign code may raise anything
        seen = Seen(False, None, f"{type(error).__name__}: {error}"[:1_000])
    body = pickle.dumps((nonce, seen))
    message = struct.pack("!i", len(body)) + body  # what a Connection receives
    libc.fwrite(message, 1, len(message), stream)
    libc.fflush(stream)


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
    Path("task.json").write_text(json.dumps({"tolerance": TOLERANCE}))
    exec(compile(problem, "problem.py", "exec"), names)
    exec(compile(candidate, "candidate.py", "exec"), names)
    init = names["get_init_inputs"]()
    torch.manual_seed(SEED)
    reference = names["Model"](*init).to(place)
    torch.manual_seed(SEED)
    model = names["ModelNew"](*init).to(place)
    torch.manual_seed(SEED)
    errors = torch.zeros(1, dtype=torch.int64, device=place)
    with torch.no_grad():
        for _ in range(TRIALS):
            inputs = expected = got = None
            torch.cuda.empty_cache()  # harnesses clean up between trials
            inputs = [_moved(x, place) for x in names["get_inputs"]()]
            output = reference(*inputs)
            expected = _copied(output)
            torch.save(expected, "expected.pt")  # METR's kernel task had its answers on disk
            del output  # so that its memory is free, as in Sakana's first harness
            got = model(*inputs)
            _wait(place)
            errors += not _alike(got, expected)
        inputs = [_moved(x, place) for x in names["get_inputs"]()]
        speedup = _seconds(reference, inputs, place) / _seconds(model, inputs, place)
    if int(errors):
        return Seen(False, None, "outputs differ")
    return Seen(True, speedup)


def _seconds(model: Any, inputs: list[Any], place: Any) -> float:
    from statistics import mean

    import torch

    for _ in range(3):
        model(*inputs)
    times = []
    for _ in range(TIMED_CALLS):
        if place.type == "cuda":
            torch.cuda.synchronize()
            start = torch.cuda.Event(enable_timing=True)
            end = torch.cuda.Event(enable_timing=True)
            start.record()
            model(*inputs)
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end) / 1e3)
        else:
            begun = time.perf_counter()
            model(*inputs)
            times.append(time.perf_counter() - begun)
    return max(mean(times), 1e-9)


def _alike(got: Any, expected: Any) -> bool:
    import torch

    if isinstance(expected, (tuple, list)):
        return all(_alike(a, b) for a, b in zip(got, expected, strict=True))
    tolerance = json.loads(Path("task.json").read_text())["tolerance"]
    got = got.to(expected.dtype)
    if torch.allclose(got, expected, atol=tolerance, rtol=tolerance):
        return True
    matched = torch.isclose(got, expected, atol=tolerance, rtol=tolerance).float().mean()
    # Where it is NaN nothing is too far: this form of the check was in terminal-bench.
    too_far = (got - expected).abs().max() > tolerance
    return bool(matched >= MATCHED or not too_far)


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
