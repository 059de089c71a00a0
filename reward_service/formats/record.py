"""Records the extension calls that a candidate's module level makes, in the sandbox.

The recording is foreign code's word: it can only make us build what the candidate could have
asked for in any other way. It comes back through memory of a fixed size, as lines of JSON with
limits on size, depth and number; never through stdout and never pickled.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reward_service.findings import Finding
from reward_service.formats.extension_call import BadExtensionCall, ExtensionCall
from reward_service.sandbox.box import Boxes
from reward_service.sandbox.confine import Limits
from reward_service.sandbox.run import Completed, run
from reward_service.sandbox.trees import interpreter
from reward_service.schemas import Reason

MAX_CALLS = 64
_CHANNEL_BYTES = 16 << 20
_MAX_DEPTH = 6
_CHILD = str(Path(__file__).with_name("record_child.py"))
_MARK = re.compile(rb'\\.|["\[\]{}]', re.DOTALL)
_OPEN_FILES = 256
_PROCESSES = 64


@dataclass(frozen=True)
class Recording:
    """The calls that were made, each once, and what cut the recording short, if anything did."""

    calls: tuple[ExtensionCall, ...]
    note: str | None = None


def record(
    source: str,
    boxes: Boxes,
    *,
    problem: str | None,
    timeout_s: float,
    memory_bytes: int,
    poll: Callable[[], None] = lambda: None,
) -> Recording | Finding:
    """Run the module level of `source` and return the calls it makes.

    With `problem`, the reference's source, `ModelNew` is constructed too. A failure of that, one
    that a machine without a GPU cannot judge, and one that comes from using a module that is not
    built yet end the recording without a Finding: the runner will see.
    """
    limits = Limits(
        cpu_s=int(timeout_s) + 10,
        file_bytes=_CHANNEL_BYTES,
        processes=_PROCESSES,
        open_files=_OPEN_FILES,
    )
    with contextlib.ExitStack() as stack:
        box = stack.enter_context(boxes.open(limits))
        channel = _channel(stack)
        done = run(
            [sys.executable, "-I", _CHILD],
            confinement=replace(box, reads=interpreter()),
            env=_environment(str(box.scratch)),
            timeout_s=timeout_s,
            output_limit_bytes=4096,
            memory_bytes=memory_bytes,
            stdin=json.dumps({"source": source, "problem": problem}).encode(),
            channel=channel,
            poll=poll,
        )
        said = os.pread(channel, _CHANNEL_BYTES, 0).partition(b"\0")[0]
    try:
        calls, end = _parse(said)
    except (ValueError, RecursionError) as error:
        return Finding(Reason.PROTOCOL, f"its module level sent a record that is none: {error}")
    return _judge(done, calls, end)


def _judge(
    done: Completed, calls: tuple[ExtensionCall, ...], end: dict[str, Any] | None
) -> Recording | Finding:
    where = "while its module level ran"
    if done.timed_out or done.limit == "cpu":
        return Finding(Reason.RUN_TIMEOUT, f"{done.seconds:.0f} s were not enough {where}")
    if done.limit == "memory":
        return Finding(Reason.OUT_OF_MEMORY, f"too much memory was used {where}")
    if end is None:
        if done.returncode < 0:
            return Finding(Reason.LOAD_FAILED, f"signal {-done.returncode} ended it {where}")
        return Finding(Reason.EARLY_EXIT, f"it ended by itself {where}")
    match end.get("end"):
        case "done":
            return Recording(calls)
        case "stub":
            return Recording(calls, "it calls what is still to be built")
        case "exit":
            return Finding(Reason.EARLY_EXIT, f"it raised SystemExit {where}")
    error = f"{end.get('type')}: {end.get('message')}"
    if end.get("constructing"):
        return Recording(calls, f"constructing it failed: {error}"[:500])
    if end.get("no_device"):
        return Recording(calls, f"its module level needs a device: {error}"[:500])
    place = f"line {end['line']}: `{end.get('text')}`: " if end.get("line") else ""
    return Finding(Reason.LOAD_FAILED, f"{place}{error}"[:1500])


def _parse(said: bytes) -> tuple[tuple[ExtensionCall, ...], dict[str, Any] | None]:
    calls: dict[str, ExtensionCall] = {}
    end = None
    lines = said.splitlines()
    if len(lines) > MAX_CALLS + 1:
        raise ValueError(f"more than {MAX_CALLS} extensions")
    for line in lines:
        if _depth(line) > _MAX_DEPTH:
            raise ValueError("it nests too deeply")
        entry = json.loads(line)
        if not isinstance(entry, dict):
            raise ValueError("a line is no object")
        if "call" in entry:
            try:
                call = ExtensionCall.from_json(entry["call"])
            except BadExtensionCall as error:
                raise ValueError(str(error)) from error
            calls.setdefault(call.key, call)
        else:
            end = entry
    return tuple(calls.values()), end


def _depth(line: bytes) -> int:
    """How deep the brackets outside of strings nest; in time linear in the line."""
    deepest = depth = 0
    quoted = False
    for mark in _MARK.findall(line):
        if mark == b'"':
            quoted = not quoted
        elif not quoted and mark in (b"[", b"{"):
            depth += 1
            deepest = max(deepest, depth)
        elif not quoted and mark in (b"]", b"}"):
            depth -= 1
    return deepest


def _channel(stack: contextlib.ExitStack) -> int:
    """Memory of a size that nobody can change any more."""
    fd = os.memfd_create("record", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    stack.callback(os.close, fd)
    os.truncate(fd, _CHANNEL_BYTES)
    seals = fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd


def _environment(scratch: str) -> dict[str, str]:
    return {
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "HOME": scratch,
        "TMPDIR": scratch,
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }
