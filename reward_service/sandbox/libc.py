"""The system calls that Python 3.11 has no function for; each raises `OSError` when refused."""

from __future__ import annotations

import ctypes
import os

CLONE_NEWNS = 0x0002_0000
CLONE_NEWIPC = 0x0800_0000
CLONE_NEWNET = 0x4000_0000

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x4_0000

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mount.argtypes = (
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_ulong,
    ctypes.c_char_p,
)
_libc.prctl.argtypes = (
    ctypes.c_int,
    ctypes.c_ulong,
    ctypes.c_ulong,
    ctypes.c_ulong,
    ctypes.c_ulong,
)
_libc.shmget.argtypes = (ctypes.c_int, ctypes.c_size_t, ctypes.c_int)
_libc.syscall.restype = ctypes.c_long


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def syscall(what: str, number: int, *args: int | bytes | None) -> int:
    """Make a system call that the C library has no function for; `what` names it in errors."""
    given = [ctypes.c_long(a) if isinstance(a, int) else ctypes.c_char_p(a) for a in args]
    return _checked(_libc.syscall(ctypes.c_long(number), *given), what)


def unshare(flags: int) -> None:
    """Give the calling process new namespaces (`CLONE_NEW*`)."""
    _checked(_libc.unshare(flags), f"unshare({flags:#x})")


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    """Mount `source` on `target`."""
    result = _libc.mount(
        source.encode() if source is not None else None,
        os.fsencode(target),
        kind.encode() if kind is not None else None,
        flags,
        data.encode(),
    )
    _checked(result, f"mount on {target}")


def private_mounts() -> None:
    """Enter a mount namespace of its own: later mounts are seen here and in children only."""
    unshare(CLONE_NEWNS)
    mount(None, "/", None, MS_REC | MS_PRIVATE)


def die_with_parent(signal: int) -> None:
    """Have `signal` sent to the calling process when the thread that made it ends.

    A change of user or group clears this, so it comes after.
    """
    _checked(_libc.prctl(_PR_SET_PDEATHSIG, signal, 0, 0, 0), "prctl(PR_SET_PDEATHSIG)")


def adopt_orphans() -> None:
    """Make the calling process the parent of each descendant that loses its own.

    It then must wait for them: a zombie counts against its user's limit of processes.
    """
    _checked(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl(PR_SET_CHILD_SUBREAPER)")


def no_new_privileges() -> None:
    """Make set-user-id files and file capabilities worth nothing from here on."""
    _checked(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)")


def shmget(key: int, size: int, flags: int) -> int:
    """The id of the System V shared memory segment with `key`."""
    return _checked(_libc.shmget(key, size, flags), "shmget")


def remove_sysv(kind: str, ident: int) -> None:
    """Remove the System V object `ident`; `kind` is `shm`, `sem` or `msg`."""
    remove = 0  # IPC_RMID
    if kind == "sem":
        _checked(_libc.semctl(ident, 0, remove), "semctl")
    else:
        _checked(getattr(_libc, f"{kind}ctl")(ident, remove, None), f"{kind}ctl")
