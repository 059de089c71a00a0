"""Takes a process's powers away before foreign code runs in it.

`confine` is for a freshly forked process with one thread. The order matters, and is this:

    1. a session of its own, so that its process group can be killed
    2. namespaces (network, System V and POSIX IPC, mounts with a /dev/shm of its own, and a scratch
       directory of bounded size): need root
    3. resource limits: some hard limits may be set by root only
    4. no supplementary groups, then the group, then the user: the last step that needs root
    5. SIGKILL when the parent dies: a change of user clears it, so not before 4
    6. no_new_privs
    7. umask and working directory
    8. Landlock, then seccomp, which forbids what the steps before it use; both need 6

Nothing is best effort: what was asked for and cannot be had raises `OSError`, and the process
must not go on. Open descriptors and the environment are the caller's; see `close_all_but`.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from reward_service.sandbox import landlock, libc, reach, seccomp

Layer = Literal["network", "ipc", "mounts", "landlock", "seccomp"]
"""What a confinement may go without. The first three are namespaces."""
LAYERS: frozenset[Layer] = frozenset({"network", "ipc", "mounts", "landlock", "seccomp"})
WITHOUT_ROOT: frozenset[Layer] = frozenset({"landlock", "seccomp"})

LOWEST_UID = 1_000
"""Below are root and the system's users, which foreign code never becomes."""

_CLONE: dict[Layer, int] = {"network": libc.CLONE_NEWNET, "ipc": libc.CLONE_NEWIPC}
_SHM = "/dev/shm"
_SHM_OPTIONS = "size=64m,nr_inodes=1024,mode=1777"
_SCRATCH_OPTIONS = "size={size},nr_inodes=65536,mode=0700,uid={uid},gid={uid}"


@dataclass(frozen=True)
class Limits:
    """What one process may use; a core file is never written."""

    cpu_s: int
    """Seconds of processor time of each process; SIGXCPU then, SIGKILL two seconds later."""
    file_bytes: int
    """Size of each file it writes."""
    processes: int
    """Processes and threads of the user; without a change of user, beyond those already there."""
    open_files: int
    address_bytes: int | None = None
    """Address space of each process. None where CUDA runs: it reserves terabytes."""
    scratch_bytes: int | None = None
    """Size of the scratch directory, which then lies in memory, and which nobody outside of the
    process and its children sees. Holds where the layer `mounts` does. None: as big as the disk."""


@dataclass(frozen=True)
class Confinement:
    """How a process is to be confined."""

    uid: int | None
    """User and group to become; None: stay (no root)."""
    limits: Limits
    scratch: Path | None = None
    """Working directory, owned by `uid`; None: `/`."""
    layers: frozenset[Layer] | None = None
    """The layers to put on; None: all of them where `uid` is given, otherwise what needs no root.
    """
    reads: tuple[str, ...] = ()
    """Files and trees that it reads beside the system's; see `reach`."""
    devices: tuple[str, ...] = ()
    """Device nodes that it uses."""

    def __post_init__(self) -> None:
        # Whoever ends a confined tree kills all that its user runs.
        if self.uid is not None and self.uid < LOWEST_UID:
            raise ValueError(f"foreign code never runs as the system user {self.uid}")

    @property
    def chosen(self) -> frozenset[Layer]:
        """The layers that will be put on."""
        if self.layers is not None:
            return self.layers
        return LAYERS if self.uid is not None else WITHOUT_ROOT

    def to_json(self) -> dict[str, Any]:
        """For another process."""
        scratch = str(self.scratch) if self.scratch is not None else None
        return {**asdict(self), "scratch": scratch, "layers": sorted(self.chosen)}

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> Confinement:
        """What `to_json` made, by way of JSON."""
        return cls(
            uid=given["uid"],
            limits=Limits(**given["limits"]),
            scratch=Path(given["scratch"]) if given["scratch"] is not None else None,
            layers=frozenset(given["layers"]),
            reads=tuple(given["reads"]),
            devices=tuple(given["devices"]),
        )


def confine(c: Confinement, *, parent: int | None = None) -> None:
    """Confine the calling process; see the module for the order.

    `parent` is the pid that forked it, read before the fork; without it a parent that died
    before this call goes unnoticed. Raises `OSError` for a step that fails, and
    `ProcessLookupError` (an `OSError` too) if the parent has died.
    """
    parent = os.getppid() if parent is None else parent
    if os.getsid(0) != os.getpid():
        os.setsid()
    _enter(c)
    _limit(c.limits, c.uid)
    if c.uid is not None:
        _become(c.uid)
    libc.die_with_parent(signal.SIGKILL)
    if os.getppid() != parent:
        raise ProcessLookupError(f"the parent {parent} has died")
    libc.no_new_privileges()
    os.umask(0o077)
    os.chdir(c.scratch if c.scratch is not None else "/")
    if "landlock" in c.chosen:
        scratch = str(c.scratch) if c.scratch is not None else None
        own_shm = {"ipc", "mounts"} <= c.chosen
        landlock.restrict(reach.rules(c.reads, scratch, c.devices, shared_memory=own_shm))
    if "seccomp" in c.chosen:
        seccomp.install()


def close_all_but(keep: Iterable[int]) -> None:
    """Close every descriptor of the calling process that is not in `keep`."""
    start = 0
    for fd in sorted(set(keep)):
        if start < fd:  # closerange(n, n) of 0 closes everything
            os.closerange(start, fd)
        start = fd + 1
    os.closerange(start, os.sysconf("SC_OPEN_MAX"))


def _enter(c: Confinement) -> None:
    for name, flag in _CLONE.items():
        if name in c.chosen:
            libc.unshare(flag)
    if "mounts" not in c.chosen:
        return
    libc.private_mounts()
    if "ipc" in c.chosen and os.path.isdir(_SHM):
        _mount_memory(_SHM, _SHM_OPTIONS)
    if c.scratch is not None and c.limits.scratch_bytes is not None:
        uid = os.getuid() if c.uid is None else c.uid
        _mount_memory(str(c.scratch), _SCRATCH_OPTIONS.format(size=c.limits.scratch_bytes, uid=uid))


def _mount_memory(target: str, options: str) -> None:
    libc.mount("tmpfs", target, "tmpfs", libc.MS_NOSUID | libc.MS_NODEV, options)


def _limit(limits: Limits, uid: int | None) -> None:
    processes = limits.processes
    if uid is None:
        processes += _threads_of(os.getuid())
    hard: dict[int, int | None] = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NPROC: processes,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_AS: limits.address_bytes,
    }
    for which, value in hard.items():
        if value is not None:
            _lower(which, value, value)
    _lower(resource.RLIMIT_CPU, limits.cpu_s, limits.cpu_s + 2)


def _lower(which: int, soft: int, hard: int) -> None:
    """Set a limit; one that is already lower stays, since only root may raise it."""
    present = resource.getrlimit(which)[1]
    if present != resource.RLIM_INFINITY:
        hard = min(hard, present)
    resource.setrlimit(which, (min(soft, hard), hard))


def _become(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    if os.getresuid() != (uid, uid, uid) or os.getresgid() != (uid, uid, uid):
        raise PermissionError(f"the user is still {os.getresuid()} and not {uid}")


def _threads_of(uid: int) -> int:
    count = 0
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if entry.stat().st_uid == uid:
                    count += len(os.listdir(f"/proc/{entry.name}/task"))
            except OSError:
                continue  # it has ended meanwhile
    return count
