"""The judge's handle on one runner: it starts it, asks it things, drives its calls, ends it.

Whatever the runner does, every method here returns or raises within its time limit.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reward_service.judge.pause import Rest, RestlessError
from reward_service.runner.channel import (
    Channel,
    ChannelClosedError,
    ChannelError,
    ChannelTimeoutError,
)
from reward_service.runner.page import (
    LEAVE,
    ControlPage,
    ControlWords,
    Mode,
    SharedMemory,
    Status,
    What,
)
from reward_service.schemas import Reason

SETTLE_LIMIT_S = 30.0
"""Seconds for what a runner does of its own: entering call mode, handing over bytes."""
_PREPARE_LIMIT_S = 1.5
"""Seconds beyond a call's own limit for preparing it, which on a CPU includes a warm-up call."""
_LOOK_EVERY = 256
_SPIN_S = 0.003
_NAP_S = 50e-6


class RunnerError(Exception):
    """A runner failed; `reason` is what that means if it held a candidate."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class CandidateError(RunnerError):
    """The runner of a candidate failed."""


class ProblemRunnerError(RunnerError):
    """The runner of a reference failed."""


@dataclass(frozen=True)
class RunnerSlot:
    """Where a runner runs: its user, its directory and its limits."""

    uid: int | None
    scratch: Path
    """Its own, to write in."""
    modules: Path
    """Of its program's extensions; it reads them."""
    cpus: Sequence[int]
    limits: dict[str, int | None]
    layers: Sequence[str]
    memory_bytes: int
    """What all of its processes together may take of the host's memory."""


@dataclass(frozen=True)
class Call:
    """One finished call as the judge saw it."""

    wall_s: float
    """From `go` to `done`, by the judge's clock."""
    window_s: float
    """From `loaded` to `synced`, by the judge's clock: the call and little else."""
    claimed_s: float
    """What the runner says the device spent."""
    digest: int
    """What the runner says its output's bits sum to, from before the clock stopped."""
    inputs_digest: int
    """Likewise of the inputs, as the call left them."""
    export_s: float
    """From `export` to `exported`."""


class RunnerClient:
    """One runner process."""

    def __init__(
        self, zygote: Channel, slot: RunnerSlot, device: str, failure: type[RunnerError]
    ) -> None:
        ours, theirs = socket.socketpair()
        self.page = ControlPage.create()
        self.zygote = zygote
        self.failure = failure
        """What to raise when the runner fails; it says whose program the runner holds."""
        self.channel = Channel(ours, max_bytes=1 << 20)
        self._number = 0
        self._serving = False
        request = {
            "op": "runner",
            "uid": slot.uid,
            "scratch": str(slot.scratch),
            "cpus": slot.cpus,
            "limits": slot.limits,
            "layers": slot.layers,
            "memory_bytes": slot.memory_bytes,
            "modules": str(slot.modules),
            "device": device,
        }
        answer = zygote.request(request, (theirs.fileno(), self.page.memory.fd))
        theirs.close()
        self.pid: int = answer["pid"]
        self._pidfd = os.pidfd_open(self.pid)
        self._rest = Rest(self.pid, self._pidfd, slot.uid)
        self._death = select.poll()
        self._death.register(self._pidfd, select.POLLIN)

    def request(
        self, op: str, timeout_s: float, memory: SharedMemory | None = None, **arguments: Any
    ) -> dict[str, Any]:
        """Ask for something over the channel."""
        self.leave_calls()
        return self._exchange(op, timeout_s, memory, arguments)

    def call(
        self,
        key: int,
        limit_s: float,
        *,
        mode: Mode = Mode.WORKING,
        seed: int = 0,
        renew: bool = False,
        restore: bool = False,
        everything: bool = False,
        keep: bool = False,
    ) -> Call:
        """Have the program called once on the inputs that lie in its memory.

        `keep`: its outputs will be asked for again, by `recall`.
        """
        words, number = self._next_call()
        words.recall = False
        words.mode, words.seed = mode, seed
        words.renew, words.restore = renew, restore
        words.call = number
        # A call that fails while it is prepared is done without ever having been ready.
        self._await(("ready", "done"), number, limit_s + _PREPARE_LIMIT_S)
        words.key = key
        start = time.perf_counter_ns()
        words.go = number
        # A call that fails is done without ever having been loaded or synced.
        self._await(("loaded", "done"), number, limit_s)
        loaded = time.perf_counter_ns()
        self._await(("synced", "done"), number, limit_s)
        synced = time.perf_counter_ns()
        self._await(("done",), number, limit_s)
        wall_s = (time.perf_counter_ns() - start) / 1e9
        digests, claimed_s = (words.digest, words.inputs_digest), words.claimed_ns / 1e9
        words.keep = keep
        words.what = What.EVERYTHING if everything else What.OUTPUTS
        start = time.perf_counter_ns()
        words.export = number
        self._await(("exported",), number, SETTLE_LIMIT_S)
        export_s = (time.perf_counter_ns() - start) / 1e9
        # Damage around the inputs is looked for after the clock has stopped.
        status = words.status
        if status != Status.OK:
            raise self.failure(_REASONS.get(status, Reason.PROTOCOL), self.page.text())
        return Call(wall_s, (synced - loaded) / 1e9, claimed_s, *digests, export_s)

    def recall(self) -> None:
        """Have the outputs that were kept handed over once more."""
        words, number = self._next_call()
        words.recall = True
        words.call = number
        self._await(("exported",), number, SETTLE_LIMIT_S)

    def _next_call(self) -> tuple[ControlWords, int]:
        """The words of the page and the number of the next call, in call mode."""
        if not self._serving:
            self._exchange("calls", SETTLE_LIMIT_S, None, {})
            self._serving = True
        self._number += 1
        return self.page.words, self._number

    @contextmanager
    def resting(self) -> Iterator[None]:
        """See `judge.pause`."""
        try:
            with self._rest.hold():
                yield
        except RestlessError as error:
            raise self.failure(Reason.CONCURRENCY, str(error)) from error

    def leave_calls(self) -> None:
        """Go back to the channel."""
        if self._serving:
            self._serving = False
            self.page.words.call = LEAVE
            self._receive(SETTLE_LIMIT_S)
            self.page.words.call = self._number

    def end(self) -> str:
        """Kill the process tree; the tail of what it printed."""
        self.channel.close()
        answer = self.zygote.request({"op": "end", "pid": self.pid}, timeout=60)
        os.close(self._pidfd)
        self.page.memory.close()
        return str(answer["log"])

    # --- waiting ---------------------------------------------------------------------------

    def _exchange(
        self, op: str, timeout_s: float, memory: SharedMemory | None, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        fds = () if memory is None else (memory.fd,)
        try:
            self.channel.send({"op": op, **arguments}, fds, timeout_s)
        except ChannelClosedError as error:
            raise self._death_cause() from error
        except ChannelTimeoutError as error:
            raise self.failure(Reason.RUN_TIMEOUT, f"it did not read {op!r} in time") from error
        answer = self._receive(timeout_s)
        if "error" in answer:
            raise self.failure(*_reported(answer["error"]))
        return answer

    def _receive(self, timeout_s: float) -> dict[str, Any]:
        try:
            return self.channel.receive(timeout_s)[0]
        except ChannelTimeoutError as error:
            message = f"it did not answer within {timeout_s:.3g} s"
            raise self.failure(Reason.RUN_TIMEOUT, message) from error
        except ChannelClosedError as error:
            raise self._death_cause() from error
        except ChannelError as error:
            raise self.failure(Reason.PROTOCOL, str(error)) from error

    def _await(self, names: tuple[str, ...], number: int, limit_s: float) -> None:
        """Wait until one of the runner's words has the value, it dies, or time is up.

        Spinning keeps the clock's resolution at a microsecond; past a few milliseconds naps of
        50 us cost nothing that matters and leave the core to others.
        """
        words = self.page.words
        start = time.monotonic()
        count = 0
        napping = False
        while not any(getattr(words, name) == number for name in names):
            count += 1
            if napping:
                time.sleep(_NAP_S)
            if count % _LOOK_EVERY and not napping:
                continue
            elapsed = time.monotonic() - start
            napping = elapsed > _SPIN_S
            if self._death.poll(0):
                if any(getattr(words, name) == number for name in names):
                    return
                raise self._death_cause()
            if elapsed > limit_s:
                raise self.failure(Reason.RUN_TIMEOUT, f"a call did not end within {limit_s:.3g} s")

    def _death_cause(self) -> RunnerError:
        """What the end of the process says about the program that it held."""
        self._death.poll(2_000)
        answer = self.zygote.request({"op": "status", "pid": self.pid}, timeout=60)
        status, log = answer["status"], _last_line(answer["log"])
        if status is None:
            return self.failure(Reason.PROTOCOL, "it closed its channel and stayed alive")
        if status >= 0:
            return self.failure(
                Reason.EARLY_EXIT, f"its process ended itself with status {status}{log}"
            )
        if answer["overrun"]:
            return self.failure(
                Reason.OUT_OF_MEMORY, f"it took more than {answer['overrun'] / 2**30:.1f} GiB"
            )
        if -status == signal.SIGKILL:
            return self.failure(Reason.OUT_OF_MEMORY, f"its process was killed by the system{log}")
        return self.failure(
            Reason.EXCEPTION, f"its process crashed with {_signal_name(-status)}{log}"
        )


_REASONS = {
    Status.EXCEPTION: Reason.EXCEPTION,
    Status.OUT_OF_MEMORY: Reason.OUT_OF_MEMORY,
    Status.CUDA_FAULT: Reason.CUDA_FAULT,
    Status.SCHEMA: Reason.SCHEMA,
    Status.ALIAS: Reason.ALIAS,
    Status.OUT_OF_BOUNDS: Reason.OUT_OF_BOUNDS,
}


def _reported(error: Any) -> tuple[Reason, str]:
    """A failure that the runner told of, read with suspicion."""
    if not isinstance(error, dict):
        return Reason.PROTOCOL, "it answered with an error that is not an object"
    kind, message = str(error.get("kind")), str(error.get("message"))[:2_000]
    try:
        status = Status[kind]
    except KeyError:
        return Reason.PROTOCOL, f"it answered with an unknown error {kind[:40]!r}"
    return _REASONS.get(status, Reason.PROTOCOL), message


def _signal_name(number: int) -> str:
    """Real-time signals have no name of their own."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_line(log: str) -> str:
    lines = [line for line in log.splitlines() if line.strip()]
    return f": {lines[-1][:300]}" if lines else ""
