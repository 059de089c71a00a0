"""Run by `isolation.self_test` as a fresh process: confines itself, then tries to get out.

Prints one JSON object: for each layer the list of what got through, empty if it holds. A layer
that this machine refuses to set up holds nothing, and says so. Landlock and seccomp forbid much
of what other layers do, and could hide a hole in these: each of the two is tried alone, in a
child of its own, and the others are tried without them.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

_LIMITS = {"cpu_s": 60, "file_bytes": 1 << 16, "processes": 8, "open_files": 32}
_CLONE_FS = 0x200
_PR_SET_SECCOMP = 22
_SOCK_CLOEXEC = 0o200_0000
_AF_NETLINK, _AF_PACKET, _AF_VSOCK = 16, 17, 40


def main() -> None:
    """Try every layer; see the module."""
    spec = json.loads(sys.argv[1])
    sys.path.append(str(Path(__file__).resolve().parents[2]))
    from reward_service.sandbox import confine as c
    from reward_service.sandbox import libc, mounts

    uid: int | None = spec["uid"]
    names = ("uid", "network", "ipc", "mounts", "landlock", "seccomp", "no_new_privs", "rlimits")
    found: dict[str, list[str]] = {name: [] for name in names}
    folder = Path(spec["folder"])
    found["landlock"] += _alone("landlock", lambda: _landlock(spec, folder))
    found["seccomp"] += _alone("seccomp", _seccomp)
    steps: dict[c.Layer, Callable[[], None]] = {
        "network": lambda: libc.unshare(libc.CLONE_NEWNET),
        "ipc": lambda: libc.unshare(libc.CLONE_NEWIPC),
        "mounts": libc.private_mounts,
    }
    for name, step in steps.items():
        found[name] += _refused(step)
    if uid is None:
        found["uid"].append("not root")
    else:
        change = c.Confinement(uid, c.Limits(**_LIMITS), layers=frozenset())
        found["uid"] += _refused(lambda: c.confine(change))
    if found["uid"]:
        uid = None
    elif not found["mounts"]:
        mounts.expose_only([folder / "closed" / "tree"], [folder / "scratch"])
    namespaces = frozenset(n for n in steps if uid is not None and not found[n])
    c.confine(
        c.Confinement(uid, c.Limits(**_LIMITS), folder / "scratch", namespaces),
        parent=spec["parent"],
    )
    status = dict(
        line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines()
    )
    found["uid"] += _uid(uid, spec["parent"], folder, status)
    found["network"] += _network(spec["port"], spec["abstract"])
    found["ipc"] += _ipc(spec["sysv"], spec["shm"])
    found["mounts"] += _mounts(folder / "closed")
    found["no_new_privs"] += _no_new_privs(folder / "setuid-id", status)
    found["rlimits"] += _rlimits(uid)
    json.dump(found, sys.stdout)


def _alone(layer: Literal["landlock", "seccomp"], attempts: Callable[[], list[str]]) -> list[str]:
    """What gets through in a child that has this layer and no other."""
    from reward_service.sandbox import confine as c

    out, into = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            alone = c.Confinement(None, c.Limits(**_LIMITS), layers=frozenset({layer}))
            c.confine(alone, parent=parent)
            said = attempts()
        except OSError as error:
            said = [str(error)]
        os.write(into, json.dumps(said).encode())
        os._exit(0)
    os.close(into)
    os.waitpid(child, 0)
    with os.fdopen(out) as file:
        told = file.read()
    return list(json.loads(told)) if told else ["the attempts did not end"]


def _landlock(spec: dict[str, Any], folder: Path) -> list[str]:
    from reward_service.sandbox import landlock

    file, new = folder / "public" / "file", folder / "public" / "new"
    found = [
        *_gets_through("reading a public file", file.read_bytes),
        *_gets_through("listing a public directory", lambda: os.listdir(file.parent)),
        *_gets_through("writing a public file", lambda: file.open("r+").close()),
        *_gets_through("making a file in a public directory", new.touch),
        *_gets_through("reading /etc/passwd", Path("/etc/passwd").read_bytes),
        *_gets_through("reading the parent's environment", lambda: _read(os.getppid(), "environ")),
        *_gets_through("the parent's command line", lambda: _read(os.getppid(), "cmdline")),
    ]
    if landlock.version() >= landlock.TCP_SINCE:
        tcp = ("127.0.0.1", spec["port"])
        found += _gets_through("TCP to this host", lambda: _connect(socket.AF_INET, tcp))
        found += _gets_through("a TCP port", lambda: socket.create_server(("127.0.0.1", 0)).close())
    if landlock.version() >= landlock.SCOPES_SINCE:
        name = "\0" + spec["abstract"]
        found += _gets_through("an abstract socket", lambda: _connect(socket.AF_UNIX, name))
        found += _gets_through("signalling the parent", lambda: os.kill(os.getppid(), 0))
    return found


def _seccomp() -> list[str]:
    """Every call of the list, with arguments that no kernel accepts; then what is let through or
    not by its arguments."""
    from reward_service.sandbox import libc, seccomp, syscalls

    machine = syscalls.architecture()
    denied = dict.fromkeys(machine.refused, errno.EPERM)
    denied |= dict.fromkeys(syscalls.NOT_THERE, errno.ENOSYS)
    attempts: dict[str, tuple[int, tuple[int, ...], int]] = {
        name: (machine.numbers[name], (-1,) * 6, code) for name, code in denied.items()
    }

    def also(what: str, name: str, *args: int, code: int = errno.EPERM) -> None:
        attempts[what] = (machine.numbers[name], args, code)

    also("msgget", "msgget", -1, 0)  # it takes any flags, and would make a queue
    also("connecting", "connect", -1, 0, 0, code=errno.ECONNREFUSED)
    also("a namespace", "clone", libc.CLONE_NEWNS | _CLONE_FS, 0)  # a kernel refuses the two
    also("addresses that are not random", "personality", seccomp.ADDR_NO_RANDOMIZE)
    also("a filter", "prctl", _PR_SET_SECCOMP, -1, 0, 0, 0)
    for family in (socket.AF_INET, socket.AF_INET6, _AF_NETLINK, _AF_PACKET, _AF_VSOCK):
        also(f"a socket of family {family:d}", "socket", family, socket.SOCK_RAW, 0)
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
        also(f"a socket of kind {kind:d}", "socket", socket.AF_UNIX, kind | _SOCK_CLOEXEC, 0)
    found = []
    for what, (number, args, code) in attempts.items():
        try:
            libc.syscall(what, number, *args)
            found.append(f"{what} is possible")
        except OSError as error:
            if error.errno != code:
                found.append(f"{what} is answered by the kernel ({error.strerror})")
    return found


def _refused(step: Callable[[], None]) -> list[str]:
    """Try a step in a child; what it failed with, if it did."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            step()
        except OSError as error:
            os.write(into, str(error).encode())
        os._exit(0)
    os.close(into)
    os.waitpid(child, 0)
    with os.fdopen(out) as file:
        said = file.read()
    return [said] if said else []


def _gets_through(what: str, attempt: Callable[[], Any]) -> list[str]:
    try:
        attempt()
    except OSError:
        return []
    return [f"{what} is possible"]


def _uid(uid: int | None, parent: int, folder: Path, status: dict[str, str]) -> list[str]:
    if uid is None:
        return []
    found = []
    if set(os.getresuid()) | set(os.getresgid()) != {uid} or os.getgroups():
        found.append(f"users {os.getresuid()}, groups {os.getresgid()} {os.getgroups()}")
    for name in ("CapPrm", "CapEff", "CapAmb"):
        if int(status[name], 16):
            found.append(f"capabilities are left ({name} {status[name]})")
    return [
        *found,
        *_gets_through("reading a file of another user", (folder / "secret").read_bytes),
        *_gets_through("signalling the parent", lambda: os.kill(parent, 0)),
        *_gets_through("reading the parent's environment", lambda: _read(parent, "environ")),
        *_gets_through("becoming root", lambda: os.setuid(0)),
    ]


def _read(pid: int, what: str) -> bytes:
    return Path(f"/proc/{pid}/{what}").read_bytes()


def _network(port: int, abstract: str) -> list[str]:
    tcp = ("127.0.0.1", port)
    return [
        *_gets_through("TCP to this host", lambda: _connect(socket.AF_INET, tcp)),
        *_gets_through("an abstract socket", lambda: _connect(socket.AF_UNIX, "\0" + abstract)),
    ]


def _connect(family: int, address: Any) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(5)
        s.connect(address)


def _ipc(key: int, shared: str) -> list[str]:
    from reward_service.sandbox import libc

    return [
        *_gets_through("System V memory of others", lambda: libc.shmget(key, 0, 0)),
        *_gets_through("shared memory files of others", lambda: Path(shared).read_bytes()),
    ]


def _mounts(closed: Path) -> list[str]:
    found = _gets_through("reading beside an exposed tree", (closed / "hidden").read_bytes)
    try:
        if (closed / "tree" / "open").read_text() != "open":
            found.append("an exposed tree holds something else")
    except OSError as error:
        found.append(f"an exposed tree cannot be read ({error.strerror})")
    return found


def _no_new_privs(privileged: Path, status: dict[str, str]) -> list[str]:
    found = []
    if status["NoNewPrivs"] != "1":
        found.append("the flag is not set")
    if privileged.exists() and os.geteuid() != 0:
        out, into = os.pipe()
        actions = [(os.POSIX_SPAWN_DUP2, into, 1)]
        child = os.posix_spawn(privileged, ["id", "-u"], {}, file_actions=actions)
        os.close(into)
        os.waitpid(child, 0)
        with os.fdopen(out) as file:
            said = file.read().strip()
        if said != str(os.geteuid()):
            found.append(f"a set-user-id program runs as {said!r}")
    return found


def _rlimits(uid: int | None) -> list[str]:
    found = []
    if resource.getrlimit(resource.RLIMIT_CORE) != (0, 0):
        found.append("core files are not off")
    if resource.getrlimit(resource.RLIMIT_CPU)[0] > _LIMITS["cpu_s"]:
        found.append("processor time has no limit")
    with open("big", "wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 4096):
                if file.tell() > _LIMITS["file_bytes"]:
                    found.append("a file passes its limit")
                    break
        except OSError as error:
            if error.errno != errno.EFBIG:
                raise
    found += _gets_through("opening more files than allowed", _open_many)
    if uid is not None:
        found += _gets_through("more processes than allowed", _fork_many)
    return found


def _open_many() -> None:
    opened: list[int] = []
    try:
        for _ in range(_LIMITS["open_files"] + 1):
            opened.append(os.open("/dev/null", os.O_RDONLY))
    finally:
        for fd in opened:
            os.close(fd)


def _fork_many() -> None:
    out, into = os.pipe()  # the children wait for its end
    children: list[int] = []
    try:
        for _ in range(_LIMITS["processes"] + 1):
            child = os.fork()
            if child == 0:
                os.close(into)
                os.read(out, 1)
                os._exit(0)
            children.append(child)
    finally:
        os.close(into)
        os.close(out)
        for child in children:
            os.waitpid(child, 0)


if __name__ == "__main__":
    main()
