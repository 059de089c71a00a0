"""The zygote: a trusted process that has imported torch and never touched a device.

It forks the judge and the runners, so that each starts in a fraction of the 3-4 seconds that
importing torch takes. No foreign code ever runs in it, and it holds no secret, because every
runner inherits a copy of its memory. It is single-threaded, root where the service is root, and
serves requests from the supervisor and the judge, one at a time:

    {"op": "judge", ...}    + [channel]          -> {"pid"}     forks the judge
    {"op": "runner", ...}   + [channel, page]    -> {"pid"}     forks and confines a runner
    {"op": "end", "pid"}     -> {"status", "log", "overrun"}            kills the process tree
    {"op": "status", "pid"}  -> {"status", "log", "overrun"}            of one that may have ended
    {"op": "canary", ...}                        -> {"healthy"}         tries the device afresh

Between requests it drains what runners print, and keeps the tail; it ends a runner whose processes
take too much of the host's memory. Its end, however it comes,
ends its children (parent-death signal), and the supervisor sweeps their user ids.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from reward_service.runner.channel import Channel, ChannelClosedError
from reward_service.sandbox import libc, processes
from reward_service.sandbox.confine import Confinement, Limits, confine
from reward_service.sandbox.mounts import expose as expose_trees
from reward_service.sandbox.trees import cuda, gpus, interpreter
from reward_service.sandbox.uids import kill_uid

LOG_TAIL_BYTES = 4_096
LOOK_S = 0.5
"""Between two looks at how much memory runners have."""
_MOST_READS = 32
_CHANNEL_FD = 3
_SECOND_FD = 4


@dataclass
class _Child:
    pid: int
    uid: int | None
    log_fd: int
    memory_bytes: int | None = None
    """What it and all of its user's processes may take of the host's memory."""
    log: bytes = b""
    status: int | None = None
    overrun: int | None = None
    """`memory_bytes`, once they took more and were killed for it."""

    def drain(self) -> bool:
        """Read what is there; False once the pipe is closed or empty."""
        try:
            data = os.read(self.log_fd, 1 << 16)
        except BlockingIOError:
            return False
        self.log = (self.log + data)[-LOG_TAIL_BYTES:]
        return bool(data)

    def close_log(self) -> None:
        """Stop listening."""
        if self.log_fd >= 0:
            os.close(self.log_fd)
            self.log_fd = -1


class Zygote:
    """Forks on request until its last trusted client is gone."""

    def __init__(self, supervisor: Channel) -> None:
        self.supervisor = supervisor
        self.clients = [supervisor]
        self.children: dict[int, _Child] = {}
        self._next_look = 0.0
        self.reads = {"cpu": interpreter(), "cuda": (*interpreter(), *cuda())}

    def serve(self) -> None:
        """Answer requests until the supervisor goes."""
        while True:
            logs = {child.log_fd: child for child in self.children.values() if child.log_fd >= 0}
            clients = {client.fileno(): client for client in self.clients}
            ready, _, _ = select.select([*clients, *logs], [], [], LOOK_S)
            for fd in ready:
                if fd in logs:
                    # A request that was answered in this round may have ended the child.
                    if logs[fd].log_fd >= 0 and not logs[fd].drain():
                        logs[fd].close_log()
                elif not self._serve_client(clients[fd]):
                    return
            self._reap()
            self._end_overruns()

    def _serve_client(self, client: Channel) -> bool:
        """Answer one request; False once the supervisor is gone."""
        try:
            message, fds = client.receive(timeout=10)
        except ChannelClosedError:
            self.clients.remove(client)
            return client is not self.supervisor
        client.send(self._answer(message, fds))
        for fd in fds:
            os.close(fd)
        return True

    def _answer(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        match message["op"]:
            case "judge":
                return {"pid": self._fork_judge(message, fds)}
            case "runner":
                return {"pid": self._fork_runner(message, fds)}
            case "end":
                return self._end(message["pid"])
            case "status":
                return self._status(message["pid"])
            case "canary":
                return {"healthy": self._canary(message)}
            case other:
                raise ValueError(f"unknown request {other!r}")

    def _fork_judge(self, message: dict[str, Any], fds: list[int]) -> int:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            _become(fds[0], theirs.detach(), None, message["cpus"])
            _run_judge(message)
        theirs.close()
        self.clients.append(Channel(ours, accept_fds=True))
        self.children[pid] = _Child(pid, None, -1)
        return pid

    def _fork_runner(self, message: dict[str, Any], fds: list[int]) -> int:
        log_read, log_write = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(log_read, False)
        zygote = os.getpid()
        pid = os.fork()
        if pid == 0:
            _become(fds[0], fds[1], log_write, message["cpus"])
            _run_runner(message, zygote, self.reads[message["device"]])
        os.close(log_write)
        self.children[pid] = _Child(pid, message["uid"], log_read, message["memory_bytes"])
        return pid

    def _status(self, pid: int) -> dict[str, Any]:
        """The exit status (negative: a signal; None: alive) and the tail of what it printed."""
        self._reap()
        child = self.children[pid]
        for _ in range(_MOST_READS):  # whoever floods it could keep us here
            if child.log_fd < 0 or not child.drain():
                break
        log = child.log.decode("utf-8", "replace")
        return {"status": child.status, "log": log, "overrun": child.overrun}

    def _end(self, pid: int) -> dict[str, Any]:
        """Kill what is left of a child and of its user's processes."""
        answer = self._status(pid)
        child = self.children.pop(pid)
        if child.status is None:
            os.kill(pid, signal.SIGKILL)
        # It may never have become a group leader, or nothing of its group may be left.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        if child.status is None:
            os.waitpid(pid, 0)
        if child.uid is not None:
            kill_uid(child.uid)
            self._reap()
        child.close_log()
        return answer

    def _reap(self) -> None:
        """Take the status of what has ended: children, and orphans of theirs, which as zombies
        would count against the process limit of their user."""
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] in self.children:
                    self.children[ended[0]].status = os.waitstatus_to_exitcode(ended[1])

    def _end_overruns(self) -> None:
        """Kill the runners that take more memory than they may, now and then."""
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + LOOK_S
        everything = list(processes.live())
        for child in self.children.values():
            if child.memory_bytes is None or child.status is not None:
                continue
            own = (p for p in everything if p.pid == child.pid or child.uid in p.uids)
            if sum(p.memory_bytes for p in own) > child.memory_bytes:
                child.overrun = child.memory_bytes
                os.kill(child.pid, signal.SIGKILL)
                if child.uid is not None:
                    kill_uid(child.uid)

    def _canary(self, message: dict[str, Any]) -> bool:
        """Whether a new process gets a right answer from the device in time."""
        pid = os.fork()
        if pid == 0:
            _run_canary(message["device"])
        deadline = time.monotonic() + message["timeout"]
        while time.monotonic() < deadline:
            exited, status = os.waitpid(pid, os.WNOHANG)
            if exited:
                return os.waitstatus_to_exitcode(status) == 0
            time.sleep(0.005)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return False


def _become(first_fd: int, second_fd: int, log_fd: int | None, cpus: list[int] | None) -> None:
    """In a fresh child: keep two descriptors, as 3 and 4, and the standard ones; drop all else."""
    first, second = os.dup(first_fd), os.dup(second_fd)
    high = max(first, second, 64)
    first, second = os.dup2(first, high + 1), os.dup2(second, high + 2)
    if log_fd is not None:
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(log_fd, 1)
        os.dup2(log_fd, 2)
    os.dup2(first, _CHANNEL_FD)
    os.dup2(second, _SECOND_FD)
    os.closerange(_SECOND_FD + 1, os.sysconf("SC_OPEN_MAX"))
    if cpus:
        os.sched_setaffinity(0, cpus)


def _run_judge(message: dict[str, Any]) -> NoReturn:
    code = 1
    try:
        from reward_service.judge.service import serve

        serve(
            supervisor=Channel(socket.socket(fileno=_CHANNEL_FD), max_bytes=1 << 24),
            zygote=Channel(socket.socket(fileno=_SECOND_FD)),
            config=message,
        )
        code = 0
    except BaseException:  # noqa: BLE001 - the end of this process either way
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)


def _run_runner(message: dict[str, Any], parent: int, reads: tuple[str, ...]) -> NoReturn:
    code = 70
    try:
        from reward_service.runner.main import serve

        scratch = Path(message["scratch"])
        confine(
            Confinement(
                message["uid"],
                Limits(**message["limits"]),
                scratch,
                frozenset(message["layers"]),
                (*reads, message["modules"]),
                gpus() if message["device"] == "cuda" else (),
            ),
            parent=parent,
        )
        places = ("HOME", "TMPDIR", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")
        os.environ.update(dict.fromkeys(places, str(scratch)), USER="runner")
        code = serve(
            Channel(socket.socket(fileno=_CHANNEL_FD), max_bytes=1 << 24, accept_fds=True),
            _SECOND_FD,
            message["device"],
        )
    except BaseException:  # noqa: BLE001 - the end of this process either way
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _run_canary(device: str) -> NoReturn:
    code = 1
    try:
        import torch

        numbers = torch.arange(1 << 16, device="cpu" if device == "cpu" else "cuda:0")
        total = int((numbers * 3).sum())
        code = 0 if total == 3 * (1 << 15) * ((1 << 16) - 1) else 1
    except BaseException:  # noqa: BLE001 - the end of this process either way
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)


def _import_without_touching_cuda(name: str) -> None:
    """Import a module that asks, for a hint to people, whether there is a GPU.

    Neither the runtime nor the management library survives a fork once it was asked: the children
    of a zygote that had would find no device.
    """
    import torch

    ask = torch.cuda.is_available
    torch.cuda.is_available = lambda: True
    try:
        importlib.import_module(name)
    finally:
        torch.cuda.is_available = ask


def main(channel_fd: int) -> None:
    """Import torch, make the interpreter reachable for other users, and serve."""
    import torch

    _import_without_touching_cuda("torch.utils.cpp_extension")
    torch.set_num_threads(1)
    libc.adopt_orphans()
    if os.geteuid() == 0:
        expose_trees()
    # What is here stays: a child that looked through it for garbage would need 0.2 s each time.
    gc.collect()
    gc.freeze()
    channel = Channel(socket.socket(fileno=channel_fd), max_bytes=1 << 24, accept_fds=True)
    channel.send({"ready": True})
    Zygote(channel).serve()
