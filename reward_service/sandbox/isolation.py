"""Finds out which layers of the sandbox work on this machine, by trying them.

A layer counts when a confined process was seen not to get through it, never because a call
returned 0. `standard` means that all of `LAYERS` hold; `reduced` that some do not that root (the
first four) or the kernel (Landlock, seccomp) would have to give. A worker or builder refuses to
score under the level it is configured to need.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from reward_service.errors import InfrastructureError, PrerequisiteError
from reward_service.sandbox import confine, libc
from reward_service.sandbox.confine import Confinement, Limits

Level = Literal["standard", "reduced"]

LAYERS = ("uid", "network", "ipc", "mounts", "landlock", "seccomp", "no_new_privs", "rlimits")
_ALWAYS = ("no_new_privs", "rlimits")
_CHECKS = str(Path(__file__).with_name("checks.py"))
_SELF_TEST_S = 30.0


@dataclass(frozen=True)
class Isolation:
    """What the sandbox is worth on this machine."""

    level: Level
    layers: Mapping[str, bool]
    """Each of `LAYERS`: whether it was seen to hold."""
    problems: tuple[str, ...] = ()
    """What was seen to get through, for a person."""

    @property
    def summary(self) -> str:
        """The level, and where it is not the full one, the layers that there are."""
        if self.level == "standard":
            return self.level
        return f"{self.level} ({', '.join(n for n in LAYERS if self.layers[n])})"

    def confinement(self, uid: int | None, limits: Limits, scratch: Path | None) -> Confinement:
        """The strongest confinement that holds here; `uid` is used where a change of user does."""
        if self.layers["uid"] and uid is None:
            raise ValueError("a user id is needed where the user can be changed")
        possible = confine.LAYERS if self.layers["uid"] else confine.WITHOUT_ROOT
        chosen = frozenset(name for name in possible if self.layers[name])
        return Confinement(uid if self.layers["uid"] else None, limits, scratch, chosen)


def self_test(uid: int) -> Isolation:
    """Confine a process under `uid`, a free one, and try each layer from inside.

    Raises InfrastructureError if the test itself cannot be carried out.
    """
    with tempfile.TemporaryDirectory(prefix="isolation-") as name:
        os.chmod(name, 0o755)
        found = _try(uid, Path(name))
    layers = {layer: not found[layer] for layer in LAYERS}
    return Isolation(
        level="standard" if all(layers.values()) else "reduced",
        layers=MappingProxyType(layers),
        problems=tuple(f"{layer}: {p}" for layer in LAYERS for p in found[layer]),
    )


def require(minimum: Level, isolation: Isolation) -> None:
    """Raise PrerequisiteError, with the fix, if the isolation is less than `minimum`."""
    needed = LAYERS if minimum == "standard" else _ALWAYS
    lacking = [layer for layer in needed if not isolation.layers[layer]]
    if not lacking:
        return
    told = "; ".join(p for p in isolation.problems if p.split(":")[0] in lacking)
    fix = "use a Linux kernel and container that allow setrlimit and no_new_privs"
    if minimum == "standard":
        fix = (
            "run as root with CAP_SYS_ADMIN (in Docker: --cap-add SYS_ADMIN and a seccomp profile "
            "that allows unshare and mount) on a kernel with Landlock (5.13 or newer) and seccomp, "
            "or accept less with --accept-reduced-isolation "
            "(REWARD_SERVICE_MIN_ISOLATION=reduced)"
        )
    raise PrerequisiteError(f"the sandbox lacks {', '.join(lacking)} ({told})", fix)


def _try(uid: int, folder: Path) -> dict[str, list[str]]:
    """Lay out what a confined process must not reach, and have `checks.py` try to reach it."""
    root = os.geteuid() == 0
    secret = folder / "secret"
    secret.write_text("for our eyes only")
    secret.chmod(0o600)
    public = folder / "public"
    public.mkdir()
    (public / "file").write_text("for anyone")
    (public / "file").chmod(0o666)
    public.chmod(0o777)
    closed = folder / "closed"
    (closed / "tree").mkdir(parents=True)
    (closed / "tree" / "open").write_text("open")
    (closed / "hidden").write_text("hidden")
    (closed / "tree").chmod(0o755)
    (closed / "tree" / "open").chmod(0o644)
    closed.chmod(0o700)
    scratch = folder / "scratch"
    scratch.mkdir(mode=0o700)
    privileged = folder / "setuid-id"
    program = shutil.which("id", path="/usr/bin:/bin")
    if root:
        os.chown(scratch, uid, uid)
        if program is not None:
            shutil.copy(program, privileged)
            privileged.chmod(0o4755)
    shm = "/dev/shm" if os.path.isdir("/dev/shm") else folder
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as unix,
        tempfile.NamedTemporaryFile(dir=shm, prefix="isolation-") as shared,
        _segment() as key,
    ):
        os.chmod(shared.name, 0o666)
        unix.bind(f"\0{folder.name}")
        unix.listen()
        spec = {
            "uid": uid if root else None,
            "parent": os.getpid(),
            "port": tcp.getsockname()[1],
            "abstract": folder.name,
            "shm": shared.name,
            "sysv": key,
            "folder": str(folder),
        }
        done = subprocess.run(
            [sys.executable, "-I", "-S", _CHECKS, json.dumps(spec)],
            env={},
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SELF_TEST_S,
            check=False,
        )
    try:
        found = json.loads(done.stdout)
    except ValueError:
        raise InfrastructureError(
            f"the sandbox's self-test ended with status {done.returncode}: "
            f"{done.stderr.decode(errors='replace')[-2000:]}"
        ) from None
    return {layer: list(found[layer]) for layer in LAYERS}


@contextlib.contextmanager
def _segment() -> Iterator[int]:
    """A System V shared memory segment that anyone may open; yields its key."""
    create = 0o3000  # IPC_CREAT | IPC_EXCL
    while True:
        key = secrets.randbelow(2**31 - 1) + 1
        try:
            ident = libc.shmget(key, 4096, create | 0o666)
        except FileExistsError:
            continue
        break
    try:
        yield key
    finally:
        libc.remove_sysv("shm", ident)
