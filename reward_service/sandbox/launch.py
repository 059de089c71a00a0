"""Started by `run` as `python -I -S launch.py SPEC STATUS [CHANNEL]`: starts the command confined
and stays as the parent of all that comes from it.

SPEC is a descriptor with the JSON that `run` wrote; CHANNEL becomes descriptor 3 of the command,
which gets no other but 0, 1 and 2. STATUS takes one JSON object: `{"error": str, "fix": str|null}`
if the command could not be confined or started, else `{"status": int}` when it has ended. The
command never holds STATUS. This process adopts every orphan and ends when it has no child left:
what leaves its session or loses its parent is still found below it, and no zombie is left to an
init that may not care.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

_ROOT = str(Path(__file__).resolve().parents[2])


def main() -> None:
    """Start the command, wait for it and for all others; see the module."""
    spec_fd, status_fd, *channel = (int(a) for a in sys.argv[1:])
    # Behind the standard library: nothing installed beside the package may shadow it.
    sys.path.append(_ROOT)
    from reward_service.sandbox import libc
    from reward_service.sandbox.confine import close_all_but

    status = fcntl.fcntl(status_fd, fcntl.F_DUPFD_CLOEXEC, 10)
    with os.fdopen(spec_fd) as file:
        spec = json.load(file)
    keep = [0, 1, 2, status]
    if channel:
        os.dup2(fcntl.fcntl(channel[0], fcntl.F_DUPFD, 10), 3)
        keep.append(3)
    close_all_but(keep)
    libc.die_with_parent(signal.SIGKILL)
    if os.getppid() != spec["parent"]:
        return  # nobody waits for the command any more
    libc.adopt_orphans()
    me = os.getpid()
    command = os.fork()
    if command == 0:
        _become(spec, me, status)
    for fd in keep[:3] + keep[4:]:
        os.close(fd)  # so that the output ends when the command's tree has ended
    while True:
        try:
            pid, code = os.waitpid(-1, 0)
        except ChildProcessError:
            return
        if pid == command:
            _tell(status, {"status": os.waitstatus_to_exitcode(code)})


def _become(spec: dict[str, Any], parent: int, status: int) -> NoReturn:
    """Confine this process and turn it into the command."""
    from reward_service.sandbox import mounts
    from reward_service.sandbox.confine import Confinement, confine

    try:
        confinement = Confinement.from_json(spec["confinement"])
        if confinement.uid is not None:
            writable = [confinement.scratch] if confinement.scratch is not None else []
            mounts.expose_only(confinement.reads, writable)
        confine(confinement, parent=parent)
        if spec["cwd"] is not None:
            os.chdir(spec["cwd"])
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, and kept by an exec
            signal.signal(ignored, signal.SIG_DFL)
        os.execve(spec["argv"][0], spec["argv"], spec["env"])
    except BaseException as error:  # noqa: BLE001 - whatever it is, the command must not start
        told = getattr(error, "missing", f"{type(error).__name__}: {error}")
        _tell(status, {"error": told, "fix": getattr(error, "fix", None)})
    os._exit(127)


def _tell(status: int, what: dict[str, Any]) -> None:
    os.write(status, json.dumps(what).encode() + b"\n")


if __name__ == "__main__":
    main()
