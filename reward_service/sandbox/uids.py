"""Leases user ids to sandboxed processes, and ends everything that a user id runs.

Each slot of a pool is one uid and one file; whoever holds the file's `flock` has the uid. The
kernel drops the lock when the holder dies, so no slot is ever lost. The files are in one place of
the host (or container), because a uid belongs to it and not to one service's state: any number
of processes and pools may share it. The lock belongs to the descriptor: a fork that outlives the
holder keeps the slot unless it closes it (`confine.close_all_but`).

A process group is not enough to end a tree: a child that calls `setsid` leaves it. All processes
of a uid can be found by anyone with root, whatever they did.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reward_service.errors import InfrastructureError, PrerequisiteError
from reward_service.sandbox import libc, processes
from reward_service.sandbox.confine import LOWEST_UID

LOCKS = Path("/run/reward-service/uids")
"""Where all pools of this host keep their locks."""

_SWEEP_S = 10.0
_SHARED_DIRS = ("/dev/shm", "/dev/mqueue", "/run/lock", "/tmp", "/var/tmp")


@dataclass(frozen=True)
class UidPool:
    """The uids `base` up to `base + size - 1`; `directory` holds a lock file for each.

    Leasing needs root.
    """

    base: int
    directory: Path = LOCKS
    size: int = 256

    def __post_init__(self) -> None:
        if self.base < LOWEST_UID:
            raise ValueError(f"a pool of uids starts at {LOWEST_UID} or above, not {self.base}")

    @contextlib.contextmanager
    def lease(self) -> Iterator[int]:
        """A uid that nobody else holds, with nothing running under it at start or end.

        Raises InfrastructureError when all are taken, PrerequisiteError where no lock can be kept.
        """
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            uid, lock = self._take()
        except OSError as error:
            raise PrerequisiteError(
                f"the locks of user ids cannot be kept in {self.directory} ({error.strerror})",
                "run as root with a writable /run (in Docker: `--tmpfs /run`)",
            ) from error
        try:
            self.kill_uid(uid)
            try:
                yield uid
            finally:
                self.kill_uid(uid)
        finally:
            os.close(lock)

    def kill_uid(self, uid: int) -> int:
        """As the function of that name; raises ValueError for a uid outside the pool."""
        if not self.base <= uid < self.base + self.size:
            raise ValueError(f"uid {uid} is not of the pool {self.base}+{self.size}")
        return kill_uid(uid)

    def _take(self) -> tuple[int, int]:
        for uid in range(self.base, self.base + self.size):
            if _has_account(uid):
                continue
            path = self.directory / f"uid-{uid}"
            lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            return uid, lock
        raise InfrastructureError(
            f"all {self.size} user ids from {self.base} on are taken ({self.directory})"
        )


def kill_uid(uid: int) -> int:
    """End all that `uid` runs (see `kill_processes`), then remove what it left in System V IPC
    and in the shared directories; returns the number of processes killed.
    """
    killed = kill_processes(uid)
    _remove_sysv(uid)
    _remove_files(uid)
    return killed


def kill_processes(uid: int) -> int:
    """SIGKILL every process whose real, effective or saved user is `uid`; returns their number.

    Raises ValueError for a system user and for our own, InfrastructureError if something
    survives.
    """
    if uid < LOWEST_UID or uid in os.getresuid():
        raise ValueError(f"uid {uid} is a system user or our own")
    killed: set[tuple[int, int]] = set()
    give_up = time.monotonic() + _SWEEP_S
    quiet = rounds = 0
    while quiet < 2:
        found = []
        for process in processes.live():
            if uid in process.uids:
                found.append(process.pid)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
                    killed.add((process.pid, process.started))
        quiet = 0 if found else quiet + 1
        rounds += 1
        if rounds > 3 and found:
            _kill_all_at_once(uid)
        if found and time.monotonic() > give_up:
            raise InfrastructureError(f"processes of uid {uid} survive SIGKILL: {found}")
    return len(killed)


def _has_account(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _kill_all_at_once(uid: int) -> None:
    """Let the kernel kill all that the uid may signal: a scan never catches a process that
    forks and exits faster than it is read."""
    subprocess.run(
        ["/bin/sh", "-c", "kill -KILL -1"],
        user=uid,
        group=uid,
        extra_groups=[],
        env={},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )


def _remove_sysv(uid: int) -> None:
    for kind, column in (("shm", 7), ("sem", 4), ("msg", 7)):
        try:
            rows = Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]
        except FileNotFoundError:
            continue  # a kernel without System V IPC
        for row in rows:
            fields = row.split()
            if int(fields[column]) == uid:
                with contextlib.suppress(OSError):
                    libc.remove_sysv(kind, int(fields[1]))


def _remove_files(uid: int) -> None:
    for folder in _SHARED_DIRS:
        if not os.path.isdir(folder):
            continue
        with os.scandir(folder) as entries:
            owned = [e for e in entries if _owner(e) == uid]
        for entry in owned:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                Path(entry.path).unlink(missing_ok=True)


def _owner(entry: os.DirEntry[str]) -> int | None:
    try:
        return entry.stat(follow_symlinks=False).st_uid
    except FileNotFoundError:
        return None
